;; The bits of a block (block-filter.ts has what they mean). Memory: a byte per bit from 0; at 196632 which of the 64
;; bytes before the text are characters of words, a bit for each; from 196640 on the 32 bytes before the text, and the
;; text; 65792 after each byte of the text, -1 if it is a character of a word, otherwise 0. There are no branches for
;; each byte, as which bytes are words cannot be predicted, and no calls, which take as long as the work.
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
    (local $at i32) (local $from i32) (local $count i32) (local $hash i32)
    (local $words i64) (local $before i64) (local $most i64) (local $ends i64)
    (local $by1 i64) (local $by2 i64) (local $by3 i64) (local $by4 i64)
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
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end))))
    ;; Words, 64 bytes at a time, a bit for each: how many words end in them cannot be predicted either, and a wrong
    ;; guess costs as much as several words.
    (local.set $at (i32.const 196672))
    (local.set $before (i64.load (i32.const 196632)))
    (loop $next
      (local.set $count (i32.sub (local.get $end) (local.get $at)))
      (local.set $count (select (local.get $count) (i32.const 64) (i32.lt_u (local.get $count) (i32.const 64))))
      (local.set $most (i64.shr_u (i64.const -1) (i64.extend_i32_u (i32.sub (i32.const 64) (local.get $count)))))
      (local.set $words
        (i64.and
          (local.get $most)
          (i64.or
            (i64.or
              (i64.extend_i32_u (i8x16.bitmask (v128.load offset=65792 (local.get $at))))
              (i64.shl
                (i64.extend_i32_u (i8x16.bitmask (v128.load offset=65808 (local.get $at))))
                (i64.const 16)))
            (i64.or
              (i64.shl
                (i64.extend_i32_u (i8x16.bitmask (v128.load offset=65824 (local.get $at))))
                (i64.const 32))
              (i64.shl
                (i64.extend_i32_u (i8x16.bitmask (v128.load offset=65840 (local.get $at))))
                (i64.const 48))))))
      ;; Whether the byte that many bytes before is a character of a word.
      (local.set $by1
        (i64.or
          (i64.shl (local.get $words) (i64.const 1))
          (i64.shr_u (local.get $before) (i64.const 63))))
      (local.set $by2
        (i64.or
          (i64.shl (local.get $words) (i64.const 2))
          (i64.shr_u (local.get $before) (i64.const 62))))
      (local.set $by3
        (i64.or
          (i64.shl (local.get $words) (i64.const 3))
          (i64.shr_u (local.get $before) (i64.const 61))))
      (local.set $by4
        (i64.or
          (i64.shl (local.get $words) (i64.const 4))
          (i64.shr_u (local.get $before) (i64.const 60))))
      ;; The fives that end in these bytes: where five characters of words are in a row.
      (local.set $ends
        (i64.and
          (i64.and (i64.and (local.get $words) (local.get $by1)) (i64.and (local.get $by2) (local.get $by3)))
          (local.get $by4)))
      (block $noFive
        (loop $nextFive
          (br_if $noFive (i64.eqz (local.get $ends)))
          (local.set $from
            (i32.add (local.get $at) (i32.sub (i32.wrap_i64 (i64.ctz (local.get $ends))) (i32.const 4))))
          (local.set $ends (i64.and (local.get $ends) (i64.sub (local.get $ends) (i64.const 1))))
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
      ;; The words of three and of four characters that end before one of them, which have no five.
      (local.set $ends
        (i64.and
          (i64.and
            (i64.and (local.get $by1) (local.get $by2))
            (i64.and (local.get $by3) (local.get $most)))
          (i64.xor
            (i64.or
              (local.get $words)
              (i64.and
                (local.get $by4)
                (i64.or
                  (i64.shl (local.get $words) (i64.const 5))
                  (i64.shr_u (local.get $before) (i64.const 59)))))
            (i64.const -1))))
      (block $noWord
        (loop $nextWord
          (br_if $noWord (i64.eqz (local.get $ends)))
          (local.set $from (i32.wrap_i64 (i64.ctz (local.get $ends))))
          (local.set $hash (i32.load (i32.add (local.get $at) (i32.sub (local.get $from) (i32.const 4)))))
          (local.set $hash
            (select
              (i32.mul (local.get $hash) (i32.const 0x2c1b3c6d))
              (i32.mul
                (i32.add (i32.shr_u (local.get $hash) (i32.const 8)) (i32.const 1))
                (i32.const 0x297a2d39))
              (i32.and
                (i32.wrap_i64 (i64.shr_u (local.get $by4) (i64.extend_i32_u (local.get $from))))
                (i32.const 1))))
          (local.set $ends (i64.and (local.get $ends) (i64.sub (local.get $ends) (i64.const 1))))
          (i32.store8 offset=65536
            (i32.shr_u
              (i32.mul
                (i32.xor (local.get $hash) (i32.shr_u (local.get $hash) (i32.const 15)))
                (i32.const 0x85ebca6b))
              (i32.const 15))
            (i32.const 1))
          (br $nextWord)))
      (local.set $before
        (select
          (local.get $words)
          (i64.or
            (i64.shr_u (local.get $before) (i64.extend_i32_u (local.get $count)))
            (i64.shl (local.get $words) (i64.extend_i32_u (i32.sub (i32.const 64) (local.get $count)))))
          (i32.eq (local.get $count) (i32.const 64))))
      (br_if $next (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 64))) (local.get $end))))
    (i64.store (i32.const 196632) (local.get $before))
    ;; The last 32 bytes are those before what is added next.
    (call $move (i32.const 196640) (i32.sub (local.get $end) (i32.const 32))))

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
