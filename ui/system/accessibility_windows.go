package system

import (
	"context"
	"errors"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// The questions of SystemParametersInfo, and what one of them answers with.
const (
	spiGetHighContrast        = 0x0042
	spiGetClientAreaAnimation = 0x1042
	hcfHighContrastOn         = 1
)

type highContrast struct {
	size   uint32
	flags  uint32
	scheme *uint16
}

var systemParametersInfo = windows.NewLazySystemDLL("user32.dll").NewProc("SystemParametersInfoW")

// readAccessibility asks Windows: the contrast themes, "Text size" and "Animation effects" of Settings, Accessibility.
func readAccessibility(context.Context) (c Accessibility, err error) {
	contrast := highContrast{size: uint32(unsafe.Sizeof(highContrast{}))}
	if ok, _, _ := systemParametersInfo.Call(spiGetHighContrast, uintptr(contrast.size), uintptr(unsafe.Pointer(&contrast)), 0); ok != 0 {
		c.Contrast = contrast.flags&hcfHighContrastOn != 0
	}
	moves := int32(1)
	if ok, _, _ := systemParametersInfo.Call(spiGetClientAreaAnimation, 0, uintptr(unsafe.Pointer(&moves)), 0); ok != 0 {
		c.ReducedMotion = moves == 0
	}
	key, err := registry.OpenKey(registry.CURRENT_USER, `Software\Microsoft\Accessibility`, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	defer key.Close()
	if percent, _, err := key.GetIntegerValue("TextScaleFactor"); err == nil {
		c.Text = int(min(percent, 1000))
	}
	return c, nil
}
