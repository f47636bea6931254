// A viewer or operator who repeats what changes nothing: each is an entry of its own.
import { statSync } from 'node:fs'
const B='http://127.0.0.1:18787',a='Basic '+Buffer.from('kim:zzplain13 river quartz lamp').toString('base64')
const size=()=>['','-wal'].map(x=>{try{return statSync('/tmp/attack-d/scrapdeck.sqlite'+x).size}catch{return 0}}).reduce((x,y)=>x+y)
const ids=Array.from({length:60},(_,i)=>i.toString(16).padStart(32,'f'))
const s=size(),t=performance.now();let n=0,bad={}
await Promise.all(Array.from({length:16},async()=>{while(performance.now()-t<8000){const r=await fetch(B+'/api/v1/jobs/keep',{method:'POST',headers:{authorization:a,'content-type':'application/json'},body:JSON.stringify({ids,keep:true})});if(r.status===200)n++;else bad[r.status]=(bad[r.status]??0)+1;await r.text()}}))
console.log('no-ops recorded',n,JSON.stringify(bad),'bytes',size()-s,'per second',Math.round((size()-s)/8))
