package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// clashing has for each rule a file that it warns of, and how the file is without what it warns of.
var clashing = map[string]struct{ clashes, mended string }{
	"supervisor_smart_share_preempt_policy supervisor_smart_share_mode": {"supervisor_smart_share_preempt_policy = 'passive'\nsupervisor_smart_share_mode = 'none'", "supervisor_smart_share_preempt_policy = 'passive'"},
	"supervisor_default_max_cpus supervisor_smart_share_mode":           {"supervisor_default_max_cpus = 7\nsupervisor_smart_share_mode = 'none'", "supervisor_default_max_cpus = 7"},
	"supervisor_smart_share_unit supervisor_smart_share_mode":           {"supervisor_smart_share_unit = 'instances'\nsupervisor_smart_share_mode = 'none'", "supervisor_smart_share_unit = 'instances'"},
	"supervisor_smart_share_weights supervisor_smart_share_mode":        {"supervisor_smart_share_weights = 'fairshare'\nsupervisor_smart_share_mode = 'none'", "supervisor_smart_share_weights = 'fairshare'"},
	"supervisor_smart_share_min_run supervisor_smart_share_mode":        {"supervisor_smart_share_min_run = 30\nsupervisor_smart_share_mode = 'none'", "supervisor_smart_share_min_run = 30"},
	"supervisor_smart_share_settle supervisor_smart_share_mode":         {"supervisor_smart_share_settle = 30\nsupervisor_smart_share_mode = 'none'", "supervisor_smart_share_settle = 30"},
	"supervisor_smart_share_max_lost supervisor_smart_share_mode":       {"supervisor_smart_share_max_lost = 30\nsupervisor_smart_share_mode = 'none'", "supervisor_smart_share_max_lost = 30"},

	"supervisor_smart_share_min_run supervisor_smart_share_preempt_policy":  {"supervisor_smart_share_min_run = 30\nsupervisor_smart_share_preempt_policy = 'passive'", "supervisor_smart_share_preempt_policy = 'passive'"},
	"supervisor_smart_share_settle supervisor_smart_share_preempt_policy":   {"supervisor_smart_share_settle = 30\nsupervisor_smart_share_preempt_policy = 'disabled'", "supervisor_smart_share_settle = 30"},
	"supervisor_smart_share_max_lost supervisor_smart_share_preempt_policy": {"supervisor_smart_share_max_lost = 30\nsupervisor_smart_share_preempt_policy = 'passive'", "supervisor_smart_share_max_lost = 30"},
	"supervisor_smart_share_preempt_policy supervisor_preempt_policy":       {"supervisor_smart_share_preempt_policy = 'disabled'\nsupervisor_preempt_policy = 'disabled'", "supervisor_smart_share_preempt_policy = 'disabled'"},
	"supervisor_default_max_cpus supervisor_max_cpus_limit":                 {"supervisor_default_max_cpus = 200", "supervisor_default_max_cpus = 100"},
	"supervisor_cpu_share_by supervisor_cpu_share":                          {"supervisor_cpu_share_by = 'jobs'", "supervisor_cpu_share_by = 'jobs'\nsupervisor_cpu_share = 'stride'"},
	"supervisor_cpu_share_seed supervisor_cpu_share":                        {"supervisor_cpu_share_seed = 5\nsupervisor_cpu_share = 'stride'", "supervisor_cpu_share_seed = 5\nsupervisor_cpu_share = 'lottery'"},
	"supervisor_cpu_share_by supervisor_smart_share_mode":                   {"supervisor_cpu_share_by = 'jobs'\nsupervisor_cpu_share = 'stride'\nsupervisor_smart_share_mode = 'users'", "supervisor_cpu_share = 'stride'\nsupervisor_smart_share_mode = 'users'"},
	"supervisor_cpu_share supervisor_queue_algorithm":                       {"supervisor_cpu_share = 'stride'\nsupervisor_queue_algorithm = 'multifactor'", "supervisor_cpu_share = 'stride'\nsupervisor_queue_algorithm = 'multifactor'\nsupervisor_multifactor_age = 0"},
	"supervisor_cpu_share supervisor_fairshare":                             {"supervisor_cpu_share = 'stride'\nsupervisor_fairshare = 'order'\nsupervisor_highest_user_priority = 9999", "supervisor_cpu_share = 'stride'"},

	"supervisor_fairshare supervisor_queue_algorithm":       {"supervisor_fairshare = 'order'\nsupervisor_queue_algorithm = 'multifactor'", "supervisor_queue_algorithm = 'multifactor'"},
	"supervisor_fairshare supervisor_highest_user_priority": {"supervisor_fairshare = 'order'\nsupervisor_highest_user_priority = 2", "supervisor_fairshare = 'order'"},
	"supervisor_fairshare_rule supervisor_fairshare":        {"supervisor_fairshare_rule = 'fair_tree'", "supervisor_fairshare_rule = 'fair_tree'\nsupervisor_smart_share_weights = 'fairshare'"},
	"supervisor_fairshare_rule supervisor_accounts":         {"supervisor_fairshare_rule = 'fair_tree'\nsupervisor_smart_share_weights = 'fairshare'\nsupervisor_accounts = 'open'", "supervisor_accounts = 'open'"},
	"supervisor_fairshare_half_life":                        {"supervisor_fairshare_half_life = 0", "supervisor_fairshare_decay_factor = 0.75\nsupervisor_fairshare_decay_period = '48h'"},

	"supervisor_multifactor_age supervisor_queue_algorithm":       {"supervisor_multifactor_age = 5", "supervisor_multifactor_age = 5\nsupervisor_queue_algorithm = 'multifactor'"},
	"supervisor_multifactor_fairshare supervisor_queue_algorithm": {"supervisor_multifactor_fairshare = 5", "supervisor_multifactor_fairshare = 5\nsupervisor_queue_algorithm = 'multifactor'"},
	"supervisor_multifactor_priority supervisor_queue_algorithm":  {"supervisor_multifactor_priority = 5", "supervisor_multifactor_priority = 5\nsupervisor_queue_algorithm = 'multifactor'"},
	"supervisor_multifactor_size supervisor_queue_algorithm":      {"supervisor_multifactor_size = 5", "supervisor_multifactor_size = 5\nsupervisor_queue_algorithm = 'multifactor'"},
	"supervisor_multifactor_max_age supervisor_queue_algorithm":   {"supervisor_multifactor_max_age = 5", "supervisor_multifactor_max_age = 5\nsupervisor_queue_algorithm = 'multifactor'"},

	"supervisor_memory_margin supervisor_memory_quantile": {"supervisor_memory_margin = 1.5", "supervisor_memory_margin = 1.5\nsupervisor_memory_quantile = 0.95"},
	"supervisor_placement supervisor_default_hostorder":   {"supervisor_placement = 'spread'\nsupervisor_default_hostorder = '+host.memory.avail'", "supervisor_default_hostorder = '+host.memory.avail'"},
	"worker_swap_limit supervisor_smart_share_mode":       {"worker_swap_limit = '10MiB'\nsupervisor_smart_share_mode = 'none'", "worker_swap_limit = '10MiB'"},
	"worker_allow_root worker_run_as":                     {"worker_allow_root = true\nworker_run_as = 'agent'", "worker_allow_root = true\nworker_run_as = 'owner'"},
	"worker_lowest_uid worker_run_as":                     {"worker_lowest_uid = 5\nworker_run_as = 'agent'", "worker_lowest_uid = 5"},
	"worker_low_users_file worker_run_as":                 {"worker_low_users_file = '/etc/low'\nworker_run_as = 'agent'", "worker_low_users_file = '/etc/low'"},
	"worker_picture_command worker_pictures":              {"worker_picture_command = ['cat']\nworker_pictures = false", "worker_picture_command = ['cat']"},

	"mail_domain mail_host": {"mail_domain = 'studio.example'", "mail_domain = 'studio.example'\nmail_host = 'mail.studio.example'"},
	"mail_from mail_host":   {"mail_from = 'qb@studio.example'", "mail_from = 'qb@studio.example'\nmail_host = 'mail.studio.example'"},
	"mail_user mail_host": {"mail_user = 'qb'\nmail_password_file = '/etc/secret'",
		"mail_user = 'qb'\nmail_password_file = '/etc/secret'\nmail_domain = 'studio.example'\nmail_host = 'mail.studio.example'"},

	"supervisor_oidc_client_id supervisor_oidc_issuer":             {"supervisor_oidc_client_id = 'qb'", "supervisor_oidc_client_id = 'qb'\nsupervisor_oidc_issuer = 'https://login.studio.example'"},
	"supervisor_oidc_client_secret_file supervisor_oidc_issuer":    {"supervisor_oidc_client_secret_file = '/etc/secret'", "supervisor_oidc_client_secret_file = '/etc/secret'\nsupervisor_oidc_client_id = 'qb'\nsupervisor_oidc_issuer = 'https://login.studio.example'"},
	"supervisor_oidc_domain supervisor_oidc_issuer":                {"supervisor_oidc_domain = 'studio.example'", "supervisor_oidc_domain = 'studio.example'\nsupervisor_oidc_user_claim = 'email'\nsupervisor_oidc_client_id = 'qb'\nsupervisor_oidc_issuer = 'https://login.studio.example'"},
	"supervisor_oidc_admit supervisor_oidc_issuer":                 {"supervisor_oidc_admit = 'artists=user'", "supervisor_oidc_admit = 'artists=user'\nsupervisor_oidc_client_id = 'qb'\nsupervisor_oidc_issuer = 'https://login.studio.example'"},
	"supervisor_oidc_token_days supervisor_token_days":             {"supervisor_oidc_token_days = 20\nsupervisor_token_days = 10\nsupervisor_oidc_client_id = 'qb'\nsupervisor_oidc_issuer = 'https://login.studio.example'", "supervisor_oidc_token_days = 20\nsupervisor_token_days = 10"},
	"supervisor_log_retention supervisor_job_retention":            {"supervisor_log_retention = '200d'\nsupervisor_job_retention = '100d'", "supervisor_log_retention = '50d'\nsupervisor_job_retention = '100d'"},
	"supervisor_user_burst supervisor_user_submissions":            {"supervisor_user_burst = 5\nsupervisor_user_submissions = 0", "supervisor_user_burst = 5"},
	"supervisor_default_priority supervisor_highest_user_priority": {"supervisor_default_priority = 100\nsupervisor_highest_user_priority = 200", "supervisor_default_priority = 200\nsupervisor_highest_user_priority = 200"},
}

// checked is what a check of a file with a text prints; the file is accepted.
func checked(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "qb.conf")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := CheckFile(name, &out); err != nil {
		t.Errorf("%q is refused: %v", text, err)
	}
	return strings.ReplaceAll(out.String(), name, "qb.conf")
}

// Each rule warns of its file, which is accepted all the same, and of none that has the way out; no other rule does.
func TestClashesAreWarnedOf(t *testing.T) {
	var rules []string
	for _, rule := range clashes() {
		name := strings.Join(rule.keys, " ")
		rules = append(rules, name)
		files, has := clashing[name]
		if !has {
			t.Errorf("no file shows the rule of %s", name)
			continue
		}
		said := checked(t, files.clashes)
		if !strings.HasPrefix(said, "qb.conf:1: warning: "+rule.keys[0]+" = ") || !strings.HasSuffix(said, ": "+rule.happens+"; "+rule.wayOut+"\n") || strings.Count(said, "\n") != 1 {
			t.Errorf("%q gives\n%s", files.clashes, said)
		}
		if said := checked(t, files.mended); said != "" {
			t.Errorf("%q gives\n%s", files.mended, said)
		}
	}
	for name := range clashing {
		if !slices.Contains(rules, name) {
			t.Errorf("there is no rule of %s", name)
		}
	}
	if said := checked(t, uncommented(Example())); said != "" {
		t.Errorf("the example warns:\n%s", said)
	}
}

// A file that clashes is loaded all the same.
func TestAClashStopsNoStart(t *testing.T) {
	_, load := here(t)
	write(t, "qb.conf", "supervisor_cpu_share_by = 'jobs'\n", 0o600)
	t.Setenv("QB_CONF", "qb.conf")
	if c, said, err := load(); err != nil || c.Validate() != nil || said != "" {
		t.Errorf("%+v, %q, %v", c, said, err)
	}
}
