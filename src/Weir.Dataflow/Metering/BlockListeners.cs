using System.Runtime.CompilerServices;
using Weir.Core;
using Weir.Core.Metering;
using Weir.Core.Threads;

namespace Weir.Dataflow.Metering;

/// <summary>Whether anybody asks for what blocks do.</summary>
internal static class BlockListeners
{
    private static readonly ListenerDetector Detector = new(DiagnosticNames.ListenersAssembly, Prepare, WatchTime.For(TimeProvider.System));

    private static volatile bool _isReady;

    /// <summary>Whether somebody wants the duration of each call. False until <see cref="Look"/> found that somebody may listen.</summary>
    public static bool WantsCalls
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => _isReady && AskForCalls();
    }

    /// <summary>Whether somebody counts blocks.</summary>
    public static bool IsMetered => _isReady && AskForMeter();

    /// <summary>Creates what can be listened to, once somebody may listen. That runs listeners' code: not under a lock.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Look()
    {
        if (!_isReady && Detector.IsPossible)
        {
            Prepare();
        }
    }

    // Separate methods, because compiling them loads the assembly that listeners need, and then there may be some.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool AskForCalls() => BlockMeter.MeasuresCalls;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool AskForMeter() => BlockMeter.HasListeners;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Prepare()
    {
        _ = BlockMeter.HasListeners;
        _isReady = true;
    }
}
