package translate

import (
	"encoding/json"
	"errors"

	"qb/api"
	"qb/supervisor/wire/settings"
)

// InForce are the settings of a process that was started with one configuration and has read another since, each with
// its origin. Listen is the address that it has opened.
func InForce(url, listen string, started, now settings.Config) (reply api.SupervisorSettings, failed error) {
	reply.URL, started.Listen = url, listen
	settings.InForce(started, now, func(key string, value any, origin string) {
		data, err := json.Marshal(value)
		failed = errors.Join(failed, err)
		reply.Settings = append(reply.Settings, api.SupervisorSetting{Key: key, Value: data, Origin: origin})
	})
	return reply, failed
}
