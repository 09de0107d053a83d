package browser

import (
	"image/png"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmePictures: those that the README shows are there, and small. Run
// go run ./cmd/locksim/browser/pictures to make them from the current build.
func TestReadmePictures(t *testing.T) {
	readme, err := os.ReadFile("../../../README.md")
	require.NoError(t, err)
	shown := regexp.MustCompile(`!\[([^]]+)\]\((docs/pictures/[a-z]+[.]png)\)`).FindAllSubmatch(readme, -1)
	require.Len(t, shown, 3)
	for _, one := range shown {
		file, err := os.Open("../../../" + string(one[2]))
		require.NoError(t, err)
		about, err := file.Stat()
		require.NoError(t, err)
		require.Less(t, about.Size(), int64(150_000), file.Name())
		_, err = png.Decode(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
}
