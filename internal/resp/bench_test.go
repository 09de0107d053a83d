package resp

import "testing"

// BenchmarkCommandReader cuts sixteen acquire scripts, as a pipeline sends them,
// into commands.
func BenchmarkCommandReader(b *testing.B) {
	const pipeline = 16
	var sent []byte
	for range pipeline {
		sent = AppendCommand(sent, "EVALSHA", "0123456789012345678901234567890123456789", "1", "orders:42", "30000",
			"0f8fad5b-d9cb-469f-a165-70867728950e:1")
	}
	r := NewCommandReader()
	b.ReportAllocs()
	b.SetBytes(int64(len(sent)))
	for b.Loop() {
		if err := r.Feed(sent); err != nil {
			b.Fatal(err)
		}
		for n := 0; ; n++ {
			args, err := r.Next()
			if err != nil {
				b.Fatal(err)
			}
			if args == nil {
				if n != pipeline {
					b.Fatalf("%d commands", n)
				}
				break
			}
		}
	}
}

// BenchmarkAppend is the replies that lock scripts have.
func BenchmarkAppend(b *testing.B) {
	replies := []Value{Null, One, Int(29_999), OK, List(One, Zero), Str("0f8fad5b-d9cb-469f-a165-70867728950e:1")}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = out[:0]
		for _, v := range replies {
			out = Append(out, v, 2)
		}
	}
}

// BenchmarkParse is the replies and messages that clients of locks get.
func BenchmarkParse(b *testing.B) {
	channel := Str("redisson_lock__channel:{lock:1}")
	var sent []byte
	for _, v := range []Value{
		Null, One, Int(29_999), OK, List(Str("subscribe"), channel, One), List(Str("message"), channel, Str("0")),
	} {
		sent = Append(sent, v, 2)
	}
	b.ReportAllocs()
	for b.Loop() {
		for rest := sent; len(rest) > 0; {
			_, n, err := Parse(rest)
			if err != nil || n == 0 {
				b.Fatal(n, err)
			}
			rest = rest[n:]
		}
	}
}
