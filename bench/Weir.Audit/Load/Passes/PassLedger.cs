using Weir.Lab.Latency;

namespace Weir.Audit.Load.Passes;

/// <summary>What has become of each item of a pass through a queue. An item is done when it was processed and acknowledged.</summary>
/// <remarks>Any number of threads report: publishers what they are about to publish, consumers what they process, the source what was acknowledged.</remarks>
internal sealed class PassLedger(PassItems items, IMessageStarts starts, DeliveryTally tally)
{
    private readonly long[] _intended = new long[items.Messages];
    private readonly long[] _started = new long[items.Messages];
    private readonly int[] _processed = new int[items.Count];
    private readonly int[] _done = new int[items.Count];
    private readonly int[] _lastOfKey = NoneYet(items.AllKeys);
    private readonly TaskCompletionSource _allDone = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private long _begun;
    private long _published;
    private long _ended;

    /// <summary>Completes when all items are done.</summary>
    public Task AllDone => _allDone.Task;

    /// <summary>How many items are done.</summary>
    public long Done => Volatile.Read(ref _ended);

    /// <summary>How many items were published, as the engine has confirmed.</summary>
    public long Published => Volatile.Read(ref _published);

    /// <summary>Whether there is an item that somebody should do.</summary>
    public bool IsWaiting => Volatile.Read(ref _begun) > Done;

    /// <summary>A message is about to be published.</summary>
    public void Begin(int message, long intended, long now)
    {
        _intended[message] = intended;
        _started[message] = now;
        Interlocked.Add(ref _begun, items.SizeOf(message));
    }

    /// <summary>Items have been published.</summary>
    public void EndPublishing(int count) => Interlocked.Add(ref _published, count);

    /// <summary>An item is being processed.</summary>
    public void Process(WorkItem<string> item)
    {
        if (items.Find(item.Value) is not { } number || Interlocked.Increment(ref _processed[number]) > 1)
        {
            // Of an earlier pass, all of whose items were done or given up, or of this one.
            tally.CountDuplicate();
            return;
        }

        ref int last = ref _lastOfKey[items.KeyOf(number)];
        int seen = Volatile.Read(ref last);
        while (seen < number)
        {
            int before = Interlocked.CompareExchange(ref last, number, seen);
            if (before == seen)
            {
                return;
            }

            seen = before;
        }

        tally.CountOutOfOrder();
    }

    /// <summary>Items have been acknowledged.</summary>
    public void Acknowledge(IReadOnlyList<WorkBatch<string>> batches)
    {
        long now = Stopwatch.GetTimestamp();
        int ended = 0;
        foreach (WorkBatch<string> batch in batches)
        {
            foreach (WorkItem<string> item in batch.Items)
            {
                // What nobody has processed is not done, whoever acknowledges it.
                if (items.Find(item.Value) is not { } number || Volatile.Read(ref _processed[number]) == 0 || Interlocked.Exchange(ref _done[number], 1) != 0)
                {
                    continue;
                }

                ended++;
                int message = number / items.PerMessage;
                tally.Service.RecordShared(Clock.Nanoseconds(_started[message], now));
                tally.Response?.RecordShared(Clock.Nanoseconds(_intended[message], now));
            }
        }

        if (ended > 0)
        {
            starts.Done(ended);
            if (Interlocked.Add(ref _ended, ended) == items.Count)
            {
                _allDone.TrySetResult();
            }
        }
    }

    private static int[] NoneYet(int keys)
    {
        int[] last = new int[keys];
        Array.Fill(last, -1);
        return last;
    }
}
