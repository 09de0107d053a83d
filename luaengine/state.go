package luaengine

// State is what scripts leave behind on a node for later ones. The zero value is that of
// a server that has just started.
type State struct {
	random lrand48
	json   *jsonSettings // nil: as at the start
}

// Flush resets what SCRIPT FLUSH resets: the settings of cjson, but not math.random.
func (s *State) Flush() { s.json = nil }

// settings are those of the global cjson.
func (s *State) settings() *jsonSettings {
	if s.json == nil {
		s.json = newJSONSettings()
	}
	return s.json
}
