namespace Weir.Core.Dispatch;

/// <summary>Gets measurements of a run's items, and moves the run's limit and its executor's threads. Called from several threads.</summary>
internal interface IRunPilot
{
    /// <summary>Whether to measure the processor time of the next items, which costs a system call.</summary>
    bool WantsCpu { get; }

    /// <summary>Items have run one after the other on one thread, until they all ended or the last of them suspended.</summary>
    /// <param name="items">The number of items.</param>
    /// <param name="ticks">Their time, in Stopwatch ticks.</param>
    /// <param name="cpu">Their processor time, or -1 if it was not measured.</param>
    /// <param name="suspended">Whether the last of them suspended.</param>
    void RecordItems(int items, long ticks, long cpu, bool suspended);

    /// <summary>An item that had suspended has ended.</summary>
    /// <param name="ticks">How long it was suspended, in Stopwatch ticks.</param>
    /// <param name="failed">Whether it ended without a result.</param>
    void Waited(long ticks, bool failed);

    /// <summary>An item that had suspended was given up.</summary>
    void RecordGivenUp();

    /// <summary>Called at each look of the stall watch.</summary>
    /// <param name="stuck">How many items have been inside their calls since the last look.</param>
    /// <param name="cores">How many cores the process has kept busy since then; not a number where the system does not say.</param>
    void Tick(int stuck, double cores);
}
