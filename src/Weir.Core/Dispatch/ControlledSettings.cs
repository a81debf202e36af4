using System.Diagnostics.CodeAnalysis;

namespace Weir.Core.Dispatch;

/// <summary>The settings of a run that is paused, stopped and limited from outside. Of their own, so that no other run carries them.</summary>
internal sealed record ControlledSettings : PumpSettings
{
    public readonly RunControl Control;

    /// <summary>Whether the limit of <see cref="Control"/> is only a ceiling, because something else moves the run's own limit.</summary>
    public bool MovesLimit;

    /// <summary>Called when <see cref="Control"/> sets another limit.</summary>
    public Action<int>? OnLimit;

    [SetsRequiredMembers]
    public ControlledSettings(PumpSettings settings, RunControl control)
        : base(settings) => Control = control;
}
