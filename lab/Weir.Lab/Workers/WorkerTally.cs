namespace Weir.Lab.Workers;

/// <summary>What a worker writes all the time, 128 bytes away from anything that another writes.</summary>
[StructLayout(LayoutKind.Explicit, Size = 128 + 120 + 128)]
internal struct WorkerTally
{
    /// <summary>Operations completed within the measured window.</summary>
    [FieldOffset(128)]
    public long Operations;

    /// <summary>Operations completed at any time.</summary>
    [FieldOffset(136)]
    public long Executed;

    /// <summary>Operations that threw.</summary>
    [FieldOffset(144)]
    public long Failures;

    /// <summary>When its operations began to count, which is when the one that was under way at the window's beginning ended.</summary>
    [FieldOffset(152)]
    public long Start;

    /// <summary>When the operations began that were under way at the window's beginning.</summary>
    [FieldOffset(160)]
    public long FirstStart;

    /// <summary>When the last operation ended, or the next one began.</summary>
    [FieldOffset(168)]
    public long Mark;

    /// <summary>The longest time between two ends, in clock units.</summary>
    [FieldOffset(176)]
    public long LongestGap;

    /// <summary>When the worker last gave up its thread of its own accord.</summary>
    [FieldOffset(184)]
    public long Yielded;

    /// <summary>When the current operation should have started.</summary>
    [FieldOffset(192)]
    public long Intended;

    /// <summary>When the last counted operation ended.</summary>
    [FieldOffset(200)]
    public long LastEnd;

    /// <summary>How many operations were under way at the window's beginning and completed; until then, how many had been completed before them.</summary>
    [FieldOffset(208)]
    public long FirstDone;

    /// <summary>When the last counted operations began.</summary>
    [FieldOffset(216)]
    public long LastStart;

    /// <summary>Bytes that waiting for starts allocated.</summary>
    [FieldOffset(224)]
    public long OwnBytes;

    /// <summary>Whether the worker has said that it runs.</summary>
    [FieldOffset(232)]
    public bool IsRunning;

    /// <summary>Whether the operations count.</summary>
    [FieldOffset(233)]
    public bool IsMeasuring;

    /// <summary>Whether its part of the window is over.</summary>
    [FieldOffset(234)]
    public bool HasLeft;

    /// <summary>The shortest time between two ends, in clock units; 0 before the first.</summary>
    [FieldOffset(240)]
    public long ShortestGap;
}
