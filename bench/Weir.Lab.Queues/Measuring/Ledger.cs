using Weir.Lab.Queues.Arms;

namespace Weir.Lab.Queues.Measuring;

/// <summary>Which items a worker has handled, and what that took. Any thread may call it.</summary>
/// <param name="items">How many items there are.</param>
/// <param name="warmUp">After how many of them measuring begins.</param>
/// <param name="time">How long an item takes.</param>
/// <param name="spent">Reads the processor time of client and server.</param>
internal sealed class Ledger(int items, int warmUp, TimeSpan time, Func<Spent> spent)
{
    private readonly int[] _times = new int[items];
    private readonly TaskCompletionSource _all = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _handled;

    /// <summary>When measuring began.</summary>
    public Spent Begin { get; private set; }

    /// <summary>When it ended.</summary>
    public Spent End { get; private set; }

    /// <summary>Ends when each item was handled.</summary>
    public Task All => _all.Task;

    /// <summary>How many times an item was handled once more.</summary>
    public int Doubled => _times.Sum(static times => Math.Max(0, times - 1));

    /// <summary>Handles an item.</summary>
    public Task HandleAsync(QueueItem item)
    {
        if (time > TimeSpan.Zero)
        {
            Thread.Sleep(time);
        }

        Note(item.Number);
        return Task.CompletedTask;
    }

    /// <summary>Notes that an item was handled.</summary>
    public void Note(int number)
    {
        if (Interlocked.Increment(ref _times[number]) > 1)
        {
            return;
        }

        int handled = Interlocked.Increment(ref _handled);
        if (handled == warmUp)
        {
            Begin = spent();
        }
        else if (handled == items)
        {
            End = spent();
            _all.SetResult();
        }
    }

    /// <summary>What the items after those of the warm-up took.</summary>
    public QueueReading Reading(string work) => End.Since(Begin, work, items - warmUp) with { Doubled = Doubled };
}
