package settings

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"qb/smartshare/fairshare"
)

func TestDefaultsAreValid(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Fatal(err)
	}
	typ := reflect.TypeFor[Config]()
	for n := range typ.NumField() {
		if f := typ.Field(n); f.Tag.Get("toml") == "" || !strings.HasSuffix(f.Tag.Get("doc"), ".") {
			t.Errorf("%s lacks a key or a sentence", f.Name)
		}
	}
}

func TestBadSettings(t *testing.T) {
	for words, spoil := range map[string]func(*Config){
		"supervisor_door_hosts 0.0.0.0/0 10.1.0.0/16":                        func(c *Config) { c.DoorHosts = "0.0.0.0/0" },
		"supervisor_flamenco_listen 10.0.0.1:80 supervisor_door_hosts":       func(c *Config) { c.FlamencoListen = "10.0.0.1:80" },
		"supervisor_flamenco_listen farm:80 127.0.0.1:8080":                  func(c *Config) { c.FlamencoListen = "farm:80" },
		"supervisor_flamenco_owner name the user":                            func(c *Config) { c.FlamencoListen = "127.0.0.1:80" },
		"supervisor_flamenco_storage amiga linux, windows, darwin":           func(c *Config) { c.FlamencoStorage = map[string]string{"amiga": "/x"} },
		"supervisor_flamenco_storage linux whole path":                       func(c *Config) { c.FlamencoStorage = map[string]string{"linux": "x"} },
		"supervisor_listen farm HOST:PORT 0.0.0.0:50001":                     func(c *Config) { c.Listen = "farm" },
		"supervisor_listen https://farm:1 HOST:PORT":                         func(c *Config) { c.Listen = "https://farm:1" },
		"supervisor_tls_key supervisor_tls_cert neither":                     func(c *Config) { c.TLSCert = "/x" },
		"supervisor_names farm:50001 without a port":                         func(c *Config) { c.Names = "farm:50001" },
		"supervisor_oidc_issuer https":                                       func(c *Config) { c.OIDCIssuer, c.OIDCClientID = "http://login.studio.example", "qb" },
		"supervisor_oidc_client_id":                                          func(c *Config) { c.OIDCIssuer = "https://login.studio.example" },
		"supervisor_oidc_admit a=admin admins are added by name":             func(c *Config) { c.OIDCAdmit = "a=admin" },
		"supervisor_oidc_token_days = 0":                                     func(c *Config) { c.OIDCDays = 0 },
		"supervisor_listen HOST:PORT":                                        func(c *Config) { c.Listen = "localhost" },
		"supervisor_smart_share_mode \"all\" jobs, users, none":              func(c *Config) { c.ShareMode = "all" },
		"supervisor_preempt_policy passive":                                  func(c *Config) { c.Preempt = "mixed" },
		"supervisor_max_cpus_limit = 0":                                      func(c *Config) { c.MaxCPUsLimit = 0 },
		"supervisor_default_priority":                                        func(c *Config) { c.DefaultPriority = 10000 },
		"supervisor_execution_lease = 20s supervisor_liveness = 30s":         func(c *Config) { c.ExecutionLease = Duration(20 * time.Second) },
		"supervisor_kill_grace = -1s":                                        func(c *Config) { c.KillGrace = Duration(-time.Second) },
		"supervisor_global_resources host.x=1 license.NAME=NUMBER":           func(c *Config) { c.Resources = "host.x=1" },
		"supervisor_global_resources license.nuke=many":                      func(c *Config) { c.Resources = "license.nuke=many" },
		"supervisor_history_days = -1 never":                                 func(c *Config) { c.HistoryDays = -1 },
		"supervisor_job_retention = 30d supervisor_history_days = 90":        func(c *Config) { c.JobRetention = Duration(30 * Day) },
		"supervisor_job_retention = 365d supervisor_history_days = 0":        func(c *Config) { c.HistoryDays, c.JobRetention = 0, Duration(365*Day) },
		"supervisor_log_retention = 1m 1h":                                   func(c *Config) { c.LogRetention = Duration(time.Minute) },
		"supervisor_log_min_free 10GiB":                                      func(c *Config) { c.LogMinFree = -1 },
		"supervisor_default_cluster slash":                                   func(c *Config) { c.DefaultCluster = "x" },
		"supervisor_queue_algorithm \"luck\" cluster, priority, multifactor": func(c *Config) { c.QueueAlgorithm = "luck" },
		"supervisor_fairshare_half_life = 24h supervisor_fairshare_decay_factor = 0.75 one of the two": func(c *Config) {
			c.FairshareHalf, c.DecayFactor, c.DecayPeriod = Duration(Day), 0.75, Duration(48*time.Hour)
		},
		"supervisor_fairshare_decay_period = 0s the time to which":          func(c *Config) { c.DecayFactor = 0.75 },
		"supervisor_fairshare_decay_factor = 0 such as 0.75":                func(c *Config) { c.DecayPeriod = Duration(time.Hour) },
		"supervisor_fairshare_decay_factor = 1 less than 1":                 func(c *Config) { c.DecayFactor, c.DecayPeriod = 1, Duration(time.Hour) },
		"supervisor_fairshare_decay_factor = NaN":                           func(c *Config) { c.DecayFactor, c.DecayPeriod = math.NaN(), Duration(time.Hour) },
		"supervisor_fairshare_decay_factor = 0.999999 half-life of":         func(c *Config) { c.DecayFactor, c.DecayPeriod = 0.999999, Duration(30*Day) },
		"supervisor_multifactor_age = -1 use 0 to 1000000000":               func(c *Config) { c.PointsAge = -1 },
		"supervisor_multifactor_fairshare = NaN":                            func(c *Config) { c.PointsFairshare = math.NaN() },
		"supervisor_multifactor_priority = +Inf":                            func(c *Config) { c.PointsPriority = math.Inf(1) },
		"supervisor_multifactor_size = 2e+09 use -1000000000 to 1000000000": func(c *Config) { c.PointsSize = 2e9 },
		"supervisor_multifactor_max_age = 0s":                               func(c *Config) { c.PointsMaxAge = 0 },
		"supervisor_queue_algorithm \"multifactor\" all 0 _fairshare": func(c *Config) {
			c.QueueAlgorithm, c.PointsAge, c.PointsFairshare, c.PointsPriority = "multifactor", 0, 0, 0
		},
	} {
		c := DefaultConfig()
		spoil(&c)
		err := c.Validate()
		if err == nil {
			t.Errorf("%s: accepted", words)
			continue
		}
		for _, word := range strings.Fields(words) {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q does not say %q", err, word)
			}
		}
	}
	for ok, secure := range map[string]bool{"127.0.0.1:0": false, "[::1]:50001": false, "localhost:1": false, "127.3.2.1:9": false,
		"0.0.0.0:1": true, ":1": true, "[::]:1": true, "farm:1": true, "192.0.2.1:1": true} {
		if err := CheckListen(ok); err != nil || (Config{Listen: ok}).TLS() != secure {
			t.Errorf("%s: %v, TLS %v", ok, err, (Config{Listen: ok}).TLS())
		}
	}
}

func TestValues(t *testing.T) {
	var c Config
	for text, want := range map[string]Width{`"*"`: -1, `-7`: -7, `0`: 0, `12`: 12, `"12"`: 12} {
		if _, err := toml.Decode("supervisor_default_max_cpus = "+text, &c); err != nil || c.DefaultMaxCPUs != want {
			t.Errorf("%s is %d (%v)", text, c.DefaultMaxCPUs, err)
		}
	}
	if _, err := toml.Decode(`supervisor_default_max_cpus = "many"`, &c); err == nil {
		t.Error("many is a width")
	}
	for text, want := range map[string]string{`"90"`: "1m30s", `90`: "1m30s", `1.5`: "1.5s", `0`: "0s",
		`" 1h30m "`: "1h30m", `"365d"`: "365d", `"1d12h"`: "36h"} {
		if _, err := toml.Decode("supervisor_execution_lease = "+text, &c); err != nil || c.ExecutionLease.String() != want {
			t.Errorf("%s is %s (%v)", text, c.ExecutionLease, err)
		}
	}
	for _, text := range []string{`"3 days"`, `-15`, `"-15m"`, `true`, `""`} {
		if _, err := toml.Decode("supervisor_execution_lease = "+text, &c); err == nil ||
			!strings.Contains(err.Error(), "write seconds such as 90, or 5m") {
			t.Errorf("%s is %s (%v)", text, c.ExecutionLease, err)
		}
	}
}

func TestPolicy(t *testing.T) {
	c := DefaultConfig()
	if p := c.Policy(); p.Share.Order[0] != "cluster" || p.Share.DefaultMaxCPUs != -1 || p.Share.MaxCPUsLimit != 100 ||
		p.ExecutionLease != 15*time.Minute {
		t.Errorf("policy %+v", p)
	}
	c.QueueAlgorithm, c.Resources, c.ShareMaxLost = "priority", "license.nuke=20, global.tape = 2", Duration(time.Hour)
	if p := c.Policy(); p.Resources["license.nuke"] != 20 || p.Resources["global.tape"] != 2 || p.MaxLost != time.Hour {
		t.Errorf("policy %+v", p)
	}
	if p := c.Policy(); strings.Join(p.Share.Order, " ") != "priority cluster fairshare vtime age id" {
		t.Errorf("order %v", p.Share.Order)
	}
	if _, err := toml.Decode(
		"supervisor_queue_algorithm = \"multifactor\"\nsupervisor_multifactor_size = -50\nsupervisor_multifactor_max_age = \"24h\"",
		&c); err != nil {
		t.Fatal(err)
	}
	p := c.Policy()
	if w := (fairshare.Multifactor{Age: 1000, Fairshare: 10_000,
		Priority: 10_000, Size: -50}); p.Multifactor.Weights != w || p.Multifactor.MaxAge != 24*time.Hour {
		t.Errorf("weights %+v", p.Multifactor)
	}
	if strings.Join(p.Share.Order, " ") != "multifactor cluster vtime age id" || c.Validate() != nil {
		t.Errorf("order %v, %v", p.Share.Order, c.Validate())
	}
}

// A half-life said as factor and period is the same to twelve digits: the factor is left after each period.
func TestHalfLifeByFactorAndPeriod(t *testing.T) {
	c := DefaultConfig()
	if _, err := toml.Decode("supervisor_fairshare_decay_factor = 0.75\nsupervisor_fairshare_decay_period = \"48h\"",
		&c); err != nil || c.Validate() != nil {
		t.Fatal(err, c.Validate())
	}
	for _, said := range []struct {
		factor float64
		period time.Duration
	}{{0.75, 48 * time.Hour}, {0.5, 24 * time.Hour}, {0.75, 3 * time.Hour}, {0.9, 1000 * time.Second},
		{0.01, 30 * 24 * time.Hour}} {
		c.DecayFactor, c.DecayPeriod = said.factor, Duration(said.period)
		got := c.Policy().Fairshare.HalfLife.Seconds()
		if want := said.period.Seconds() * math.Ln2 / -math.Log(said.factor); math.Abs(got/want-1) > 1e-12 {
			t.Errorf("%v in %v: half-life %v s, want %v", said.factor, said.period, got, want)
		}
		left := fairshare.Usage{Value: 1}.Read(15*said.period.Seconds(), got)
		if want := math.Pow(said.factor, 15); math.Abs(left/want-1) > 1e-12 {
			t.Errorf("%v in %v: after 15 periods %v is left, want %v", said.factor, said.period, left, want)
		}
	}
	if d := DefaultConfig(); d.Policy().Fairshare.HalfLife != 416340*time.Second {
		t.Errorf("the default is %v", d.Policy().Fairshare.HalfLife)
	}
}
