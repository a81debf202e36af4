using System.Runtime.CompilerServices;
using Weir.Core.Metering;

namespace Weir.Resilience;

/// <summary>Whether anybody asks for what policies do.</summary>
internal static class PolicyListeners
{
    private static readonly ListenerDetector Detector =
        new(DiagnosticNames.ListenersAssembly, static () => _ = AskForCalls(), TimeProvider.System);

    /// <summary>Whether somebody counts calls. False until <see cref="Look"/> found that somebody may listen.</summary>
    public static bool WantsCalls
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => Detector.WasPossible && AskForCalls();
    }

    /// <summary>A policy was created: creates the meter if somebody may listen. That runs listeners' code: not under a lock.</summary>
    public static void Look()
    {
        if (Detector.IsPossible)
        {
            AskForCalls();
        }
    }

    // Separate, because compiling it loads the assembly that listeners need, and then there may be some.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool AskForCalls() => PolicyMeter.CountsCalls;
}
