;; Finds a text, 16 places at a time: where its first and its last byte fit, the rest is compared. Memory: the text from
;; 0, what is searched from 4096 on. If $case is 0x20, ASCII letters of both cases are the same, and the text is in
;; lower case; otherwise it is 0.
(module
  (memory (export "memory") 2)

  ;; What an ASCII letter and its other case differ in, 16 times; 0 for other bytes, and if case matters.
  (func $caseOf (param $byte i32) (param $case i32) (result v128)
    (i8x16.splat
      (select (local.get $case) (i32.const 0) (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x61)) (i32.const 26)))))

  (func $folded (param $byte i32) (param $case i32) (result i32)
    (if (result i32) (i32.lt_u (i32.sub (local.get $byte) (i32.const 0x41)) (i32.const 26))
      (then (i32.or (local.get $byte) (local.get $case)))
      (else (local.get $byte))))

  ;; The first place from $at on where the text of $length bytes is, all of it before $end; -1: nowhere.
  (func (export "find") (param $at i32) (param $end i32) (param $length i32) (param $case i32) (result i32)
    (local $last i32) (local $first16 v128) (local $last16 v128) (local $fits i32) (local $place i32) (local $byte i32)
    (local $firstCase v128) (local $lastCase v128)
    (local.set $last (i32.sub (local.get $length) (i32.const 1)))
    (local.set $first16 (i8x16.splat (i32.load8_u (i32.const 0))))
    (local.set $last16 (i8x16.splat (i32.load8_u (local.get $last))))
    (local.set $firstCase (call $caseOf (i32.load8_u (i32.const 0)) (local.get $case)))
    (local.set $lastCase (call $caseOf (i32.load8_u (local.get $last)) (local.get $case)))
    ;; Where it can begin at the latest, and one more.
    (local.set $end (i32.sub (local.get $end) (local.get $last)))
    (block $nowhere
      (loop $next16
        (br_if $nowhere (i32.ge_s (local.get $at) (local.get $end)))
        (local.set $fits
          (i8x16.bitmask
            (v128.and
              (i8x16.eq
                (v128.or (v128.load (local.get $at)) (local.get $firstCase))
                (local.get $first16))
              (i8x16.eq
                (v128.or (v128.load (i32.add (local.get $at) (local.get $last))) (local.get $lastCase))
                (local.get $last16)))))
        (block $none
          (loop $nextPlace
            (br_if $none (i32.eqz (local.get $fits)))
            (local.set $place (i32.add (local.get $at) (i32.ctz (local.get $fits))))
            (br_if $nowhere (i32.ge_s (local.get $place) (local.get $end)))
            (local.set $fits (i32.and (local.get $fits) (i32.sub (local.get $fits) (i32.const 1))))
            (local.set $byte (i32.const 1))
            (loop $nextByte
              (if (i32.ge_s (local.get $byte) (local.get $last)) (then (return (local.get $place))))
              (if
                (i32.eq
                  (call $folded
                    (i32.load8_u (i32.add (local.get $place) (local.get $byte)))
                    (local.get $case))
                  (i32.load8_u (local.get $byte)))
                (then
                  (local.set $byte (i32.add (local.get $byte) (i32.const 1)))
                  (br $nextByte))))
            (br $nextPlace)))
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br $next16)))
    (i32.const -1))
)
