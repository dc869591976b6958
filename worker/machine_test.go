package worker

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"qb/worker/settings"
)

func TestWorkersTellWhatTheirMachineIs(t *testing.T) {
	t.Parallel()
	found := propertiesOf(settings.Config{})
	if found["os"] != runtime.GOOS || found["architecture"] == "" || found["kernel_version"] == "" {
		t.Errorf("the machine's properties are %v", found)
	}
	said := propertiesOf(settings.Config{Properties: map[string]string{"os": "render-os", "site": "attic"}})
	if said["os"] != "render-os" || said["site"] != "attic" || said["architecture"] != found["architecture"] {
		t.Errorf("with properties of qb.conf they are %v", said)
	}
}

func TestGPUsAreFoundUnlessConfigured(t *testing.T) {
	t.Parallel()
	dev := t.TempDir()
	for _, name := range []string{"nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "sda1"} {
		if err := os.WriteFile(filepath.Join(dev, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := countGPUs(dev); n != 3 {
		t.Errorf("%d GPUs are found, want 3", n)
	}
	if n := countGPUs(filepath.Join(dev, "none")); n != 0 {
		t.Errorf("%d GPUs are found where no devices are", n)
	}
	for want, c := range map[int]settings.Config{3: {}, 2: {Resources: map[string]int{"gpus": 2}}, 0: {Resources: map[string]int{"gpus": 0}}} {
		if got := resourcesOf(c, 3, 0)["gpus"]; got != want {
			t.Errorf("with %v it offers %d GPUs, want %d", c.Resources, got, want)
		}
	}
	if got := resourcesOf(settings.Config{Scratch: 20 << 30}, 0, 5<<30); got["scratch"] != 20<<30 || got["swap"] != 5<<30 || len(got) != 2 {
		t.Errorf("with worker_scratch of 20 GB and 5 GB of swap space it offers %v", got)
	}
}
