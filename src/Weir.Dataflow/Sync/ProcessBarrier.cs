using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Weir.Dataflow.Sync;

/// <summary>
/// A fence with two unequal sides. The side that runs once an item pays nothing but keeps the compiler from reordering; the side that runs
/// once in a while makes all processors of the process fence at that moment.
/// </summary>
/// <remarks>
/// "I write A then read B, you write B then read A, and at least one of us sees the other" holds as soon as one side uses
/// <see cref="Light"/> and the other <see cref="Heavy"/>. Where the process-wide barrier is missing or slow (old kernels, emulators), both sides
/// pay an ordinary fence instead.
/// </remarks>
internal static class ProcessBarrier
{
    private static readonly TimeSpan Patience = TimeSpan.FromMilliseconds(20);

    /// <summary>Whether the heavy side is really process-wide. A constant for the compiler.</summary>
    public static readonly bool IsAvailable = Measure();

    /// <summary>The cheap side, between the write and the read.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Light()
    {
        if (!IsAvailable)
        {
            Interlocked.MemoryBarrier();
        }
    }

    /// <summary>The rare side, between the write and the read.</summary>
    public static void Heavy()
    {
        if (IsAvailable)
        {
            Interlocked.MemoryBarrierProcessWide();
        }
        else
        {
            Interlocked.MemoryBarrier();
        }
    }

    /// <summary>Whether a barrier that takes so long is used. Beyond 10 us, going idle would cost more than the fences it saves.</summary>
    public static bool IsFastEnough(long ticks, long ticksPerSecond) => ticks <= ticksPerSecond / 100_000;

    private static bool Measure()
    {
        bool isDecided = AppContext.TryGetSwitch("Weir.Dataflow.DisableProcessBarrier", out bool disabled);
        if (disabled)
        {
            return false;
        }

        try
        {
            Interlocked.MemoryBarrierProcessWide();

            // A switch that is set to false is a decision too.
            return isDecided || IsFast();
        }
        catch (PlatformNotSupportedException)
        {
            return false;
        }
    }

    /// <summary>
    /// The best of many counts, because on a busy machine a barrier may have to wait for a processor that is somebody else's at the moment. Such a moment can
    /// outlast many barriers, and the decision lasts as long as the process: so only what is slow all the time is.
    /// </summary>
    private static bool IsFast()
    {
        long begin = Stopwatch.GetTimestamp();
        do
        {
            long before = Stopwatch.GetTimestamp();
            Interlocked.MemoryBarrierProcessWide();
            if (IsFastEnough(Stopwatch.GetTimestamp() - before, Stopwatch.Frequency))
            {
                return true;
            }

            Thread.Yield();
        }
        while (Stopwatch.GetElapsedTime(begin) < Patience);

        return false;
    }
}
