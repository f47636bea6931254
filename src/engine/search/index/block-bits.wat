;; The bits of a block (block-filter.ts has what they mean), 16 bytes at a time. Memory: a byte per bit from 0; from 196640
;; on the 32 bytes before the text, and the text; 65792 after each of these bytes, -1 if it is a character of a word,
;; otherwise 0. Which bytes are words cannot be predicted, so there are no branches for each, and no calls, which take as
;; long as the work.
(module
  (memory (export "memory") 6)

  ;; From 196672 up to $end: puts it in lower case, and notes which bytes are characters of words.
  (func $classify (param $end i32)
    (local $at i32) (local $bytes v128)
    (local.set $at (i32.const 196672))
    (loop $next
      (local.set $bytes (v128.load (local.get $at)))
      (local.set $bytes
        (v128.or
          (local.get $bytes)
          (v128.and
            (i8x16.lt_u (i8x16.sub (local.get $bytes) (i8x16.splat (i32.const 0x41))) (i8x16.splat (i32.const 26)))
            (i8x16.splat (i32.const 0x20)))))
      (v128.store (local.get $at) (local.get $bytes))
      (v128.store offset=65792
        (local.get $at)
        (v128.or
          (v128.or
            (i8x16.lt_u (i8x16.sub (local.get $bytes) (i8x16.splat (i32.const 0x61))) (i8x16.splat (i32.const 26)))
            (i8x16.lt_u (i8x16.sub (local.get $bytes) (i8x16.splat (i32.const 0x30))) (i8x16.splat (i32.const 10))))
          (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x5f)))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end)))))

  ;; Adds the text from 196672 up to $end.
  (func (export "add") (param $end i32)
    (local $at i32) (local $from i32) (local $isWord v128) (local $words i32) (local $ends i32) (local $hash i32)
    (call $classify (local.get $end))
    (local.set $at (i32.const 196672))
    (loop $next
      ;; At the end, some of the bytes before are added once more.
      (if (i32.gt_u (local.get $at) (i32.sub (local.get $end) (i32.const 16)))
        (then (local.set $at (i32.sub (local.get $end) (i32.const 16)))))
      ;; The trigrams that end in these bytes.
      (local.set $from (i32.sub (local.get $at) (i32.const 3)))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=1 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=2 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=3 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=4 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=5 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=6 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=7 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=8 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=9 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=10 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=11 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=12 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=13 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=14 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      (i32.store8
        (i32.shr_u
          (i32.mul (i32.shr_u (i32.load offset=15 (local.get $from)) (i32.const 8)) (i32.const 0x9e3779b1))
          (i32.const 16))
        (i32.const 1))
      ;; The fives that end in them: where five characters of words are in a row.
      (local.set $isWord (v128.load offset=65792 (local.get $at)))
      (local.set $ends
        (i8x16.bitmask
          (v128.and
            (v128.and
              (v128.and (local.get $isWord) (v128.load offset=65791 (local.get $at)))
              (v128.and (v128.load offset=65790 (local.get $at)) (v128.load offset=65789 (local.get $at))))
            (v128.load offset=65788 (local.get $at)))))
      (block $noFive
        (loop $nextFive
          (br_if $noFive (i32.eqz (local.get $ends)))
          (local.set $from (i32.add (local.get $at) (i32.sub (i32.ctz (local.get $ends)) (i32.const 4))))
          (local.set $ends (i32.and (local.get $ends) (i32.sub (local.get $ends) (i32.const 1))))
          (local.set $hash
            (i32.add
              (i32.mul (i32.load offset=1 (local.get $from)) (i32.const 0x27d4eb2f))
              (i32.mul (i32.load8_u (local.get $from)) (i32.const 0x165667b1))))
          (i32.store8 offset=65536
            (i32.shr_u
              (i32.mul
                (i32.xor (local.get $hash) (i32.shr_u (local.get $hash) (i32.const 15)))
                (i32.const 0x85ebca6b))
              (i32.const 15))
            (i32.const 1))
          (br $nextFive)))
      ;; The words of three and of four characters that end before one of them, which have no five: a bit per byte, from
      ;; 16 bytes before these on.
      (local.set $words
        (i32.or
          (i8x16.bitmask (v128.load offset=65776 (local.get $at)))
          (i32.shl (i8x16.bitmask (local.get $isWord)) (i32.const 16))))
      (local.set $ends
        (i32.and
          (i32.and
            (i32.and (i32.shl (local.get $words) (i32.const 1)) (i32.shl (local.get $words) (i32.const 2)))
            (i32.and (i32.shl (local.get $words) (i32.const 3)) (i32.const 0xffff0000)))
          (i32.xor
            (i32.or
              (local.get $words)
              (i32.and (i32.shl (local.get $words) (i32.const 4)) (i32.shl (local.get $words) (i32.const 5))))
            (i32.const -1))))
      (block $noWord
        (loop $nextWord
          (br_if $noWord (i32.eqz (local.get $ends)))
          (local.set $from (i32.sub (i32.ctz (local.get $ends)) (i32.const 4)))
          (local.set $ends (i32.and (local.get $ends) (i32.sub (local.get $ends) (i32.const 1))))
          (local.set $hash (i32.load (i32.add (local.get $at) (i32.sub (local.get $from) (i32.const 16)))))
          (if (i32.and (i32.shr_u (local.get $words) (local.get $from)) (i32.const 1))
            (then (local.set $hash (i32.mul (local.get $hash) (i32.const 0x2c1b3c6d))))
            (else
              (local.set $hash
                (i32.mul
                  (i32.add (i32.shr_u (local.get $hash) (i32.const 8)) (i32.const 1))
                  (i32.const 0x297a2d39)))))
          (i32.store8 offset=65536
            (i32.shr_u
              (i32.mul
                (i32.xor (local.get $hash) (i32.shr_u (local.get $hash) (i32.const 15)))
                (i32.const 0x85ebca6b))
              (i32.const 15))
            (i32.const 1))
          (br $nextWord)))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end))))
    ;; The last 32 bytes are those before what is added next.
    (call $move (i32.const 196640) (i32.sub (local.get $end) (i32.const 32)))
    (call $move (i32.const 262432) (i32.add (local.get $end) (i32.const 65760))))

  (func $move (param $to i32) (param $from i32)
    (local $first v128)
    (local.set $first (v128.load (local.get $from)))
    (v128.store offset=16 (local.get $to) (v128.load offset=16 (local.get $from)))
    (v128.store (local.get $to) (local.get $first)))

  ;; Writes a bit for each byte from 0 to $end to $target, the lowest first, and clears the bytes.
  (func (export "take") (param $end i32) (param $target i32)
    (local $at i32)
    (loop $next
      (i32.store16
        (local.get $target)
        (i8x16.bitmask (i8x16.shl (v128.load (local.get $at)) (i32.const 7))))
      (v128.store (local.get $at) (v128.const i32x4 0 0 0 0))
      (local.set $target (i32.add (local.get $target) (i32.const 2)))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br_if $next (i32.lt_u (local.get $at) (local.get $end)))))
)
