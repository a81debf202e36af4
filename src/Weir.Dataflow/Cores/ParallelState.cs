using System.Diagnostics;
using System.Runtime.InteropServices;
using Weir.Dataflow.Sync;

namespace Weir.Dataflow.Cores;

/// <summary>What the workers of one block share.</summary>
internal sealed class ParallelState(int parallelism)
{
    /// <summary>A call that is shorter, waits for other workers included, is done sooner by one worker than by several that meet at each message.</summary>
    public static long ShortTicks = Stopwatch.Frequency * 500 / 1_000_000_000;

    /// <summary>A call that is longer, with nobody to wait for, is worth a second worker.</summary>
    public static long LongTicks = Stopwatch.Frequency * 200 / 1_000_000_000;

    /// <summary>Whoever takes a message out of the queue.</summary>
    public Gate Claims;

    public Counts Now = new() { Limit = parallelism };

    /// <summary>How many calls in a row were short, of those whose time was taken.</summary>
    public int Short;

    /// <summary>The same for long ones, while one worker works alone.</summary>
    public int Long;

    /// <summary>How often a worker that is alone looks again before it rests.</summary>
    public int Patience;

    /// <summary>How many messages had been claimed at the last look. Belongs to the watch, as does the next one.</summary>
    public long Seen;
    public bool IsWatched;

    /// <summary>Read by whoever stores a message: hence apart from what the workers write for each.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 128)]
    internal struct Counts
    {
        /// <summary>Workers that are queued or at work, and calls that are not done.</summary>
        [FieldOffset(64)]
        public int Busy;

        /// <summary>How many there may be. One, while the calls are so short that a second worker would cost more than it brings.</summary>
        [FieldOffset(68)]
        public int Limit;
    }
}
