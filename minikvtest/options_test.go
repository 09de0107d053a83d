package minikvtest

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStartAt(t *testing.T) {
	date := time.Date(2000, 2, 29, 12, 0, 0, 0, time.UTC)
	s := Run(t, StartAt(date))
	now, err := client(t, s).Time(t.Context()).Result()
	require.NoError(t, err)
	require.WithinDuration(t, date, now, time.Minute)
	s.Clock().Advance(time.Hour)
	now, err = client(t, s).Time(t.Context()).Result()
	require.NoError(t, err)
	require.WithinDuration(t, date.Add(time.Hour), now, time.Minute)
}

func TestInMemory(t *testing.T) {
	s := Run(t, InMemory())
	_, err := net.Dial("tcp", s.Addr())
	require.Error(t, err, "a port is open")
	require.NoError(t, client(t, s).Set(t.Context(), "a", "1", 0).Err())
	s.CheckGet(t, "a", "1")
}

// A replica has a write when Delay has passed, or Lag where that is more.
func TestDelayAndLag(t *testing.T) {
	for name, options := range map[string][]Option{
		"delay": {Delay(3 * time.Second)},
		"lag":   {Delay(time.Second), Lag(3 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			s := RunReplicated(t, 1, append(options, Virtual())...)
			s.Node("m1").Set("a", "1")
			s.Clock().Advance(2900 * time.Millisecond)
			_, there := s.Node("r1").Get("a")
			require.False(t, there)
			s.Clock().Advance(200 * time.Millisecond)
			value, there := s.Node("r1").Get("a")
			require.True(t, there)
			require.Equal(t, "1", value)
		})
	}
}
