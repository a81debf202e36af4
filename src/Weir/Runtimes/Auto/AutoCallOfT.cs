using Weir.Core;
using Weir.Core.Dispatch;
using Weir.Core.Metering;
using Weir.Core.Sinks;
using Weir.Core.Sources;

namespace Weir.Runtimes;

/// <summary>The ranges of one call: those that run, and those that can be reused.</summary>
internal abstract class AutoCall<TItem, TResult>(
    RuntimeCalls calls,
    string operation,
    ProcessManyOptions options,
    AutoPilot pilot,
    Func<TItem, CancellationToken, ValueTask<TResult>> processor,
    AutoProfiles profiles,
    Action<AutoCall> ended)
    : AutoCall(calls, operation, options, pilot), IRanges
{
    // Usually a spare range for each thread, each on its own cache line.
    private const int Spares = 8;
    private const int SpareStride = 8;

    private readonly Lock _lock = new();
    private readonly List<ItemRange<TItem, TResult>> _ranges = [];
    private readonly Stack<ItemRange<TItem, TResult>> _free = new();
    private readonly ItemRange<TItem, TResult>?[] _spares = new ItemRange<TItem, TResult>?[Spares * SpareStride];
    private RunSample _forgotten;
    private bool _hasEnded;
    private long _cancelled;
    private long _timedOut;

    public Func<TItem, CancellationToken, ValueTask<TResult>> Processor => processor;

    /// <summary>Where the ranges come from. Set before the start.</summary>
    public RangeSource<TItem, TResult> Source { get; set; } = null!;

    /// <summary>The lanes that wait for items to end, if the items have keys.</summary>
    public ILanes? Lanes { get; set; }

    public abstract long Ceiling { get; }

    /// <summary>The outcomes by index, if the call keeps them all; otherwise null.</summary>
    public abstract ItemOutcome<TResult>[]? Slots { get; }

    private ref ItemRange<TItem, TResult>? Spare => ref _spares[(Environment.CurrentManagedThreadId & (Spares - 1)) * SpareStride];

    public ItemRange<TItem, TResult> Rent()
    {
        if (Interlocked.Exchange(ref Spare, null) is { } spare)
        {
            return spare;
        }

        using (_lock.Hold())
        {
            if (_free.TryPop(out ItemRange<TItem, TResult>? range))
            {
                return range;
            }

            range = new ItemRange<TItem, TResult>(this);
            _ranges.Add(range);
            return range;
        }
    }

    public void Return(ItemRange<TItem, TResult> range)
    {
        if (Interlocked.Exchange(ref Spare, range) is not { } before)
        {
            return;
        }

        range = before;
        using (_lock.Hold())
        {
            _free.Push(range);
        }
    }

    /// <summary>Drops a range that an abandoned call may still be in.</summary>
    public void Forget(ItemRange<TItem, TResult> range)
    {
        using (_lock.Hold())
        {
            _ranges.Remove(range);
            range.AddTo(ref _forgotten);
        }
    }

    /// <summary>The range that starts with a given item and that runs or waits to be claimed.</summary>
    public ItemRange<TItem, TResult> At(long first)
    {
        using (_lock.Hold())
        {
            return _ranges.Find(range => range.IsAt(first)) ?? throw new InvalidOperationException($"No range starts at {first}.");
        }
    }

    /// <summary>Stores the outcomes of consecutive items.</summary>
    /// <remarks>A part of an array, and no span: .NET's own generic types over ours are compiled in each process.</remarks>
    public abstract void Store(long first, ItemOutcome<TResult>[] outcomes, int offset, int count);

    /// <summary>Stores the outcome of an item that was given up, and whose call may still be running.</summary>
    public abstract void StoreGivenUp(long index, ItemStatus status, Exception? error);

    /// <summary>The outcome of an item that threw, possibly because the run's token was cancelled.</summary>
    public ItemOutcome<TResult> Failed(Exception error)
    {
        if (!IsOver || error is not OperationCanceledException)
        {
            return ItemOutcome<TResult>.Failure(error);
        }

        if (error is NotBegunException)
        {
            // It waited for a place of the runtime's limit.
            return default;
        }

        CountGivenUp(Run.StoppedAs);
        return ItemOutcome<TResult>.Without(Run.StoppedAs, Run.StoppedError);
    }

    public void GiveUp(long first, ItemStatus status, Exception? error) => At(first).GiveUp(status, error);

    public void Complete(RunEnd end)
    {
        Pilot.Release();
        if (Pilot.Profile is { } profile)
        {
            profiles.Keep(processor, profile);
        }

        End();
        if (!_hasEnded)
        {
            // Only once, even if the completion throws and is called again.
            _hasEnded = true;
            ended(this);
        }

        CompleteSink(end);
    }

    public override RunSample Sample()
    {
        RunSample run = base.Sample();
        RunSample sample;
        ItemRange<TItem, TResult>[] ranges;
        using (_lock.Hold())
        {
            sample = _forgotten;
            ranges = [.. _ranges];
        }

        foreach (ItemRange<TItem, TResult> range in ranges)
        {
            range.AddTo(ref sample);
        }

        return run with
        {
            Succeeded = sample.Succeeded,
            Unsuccessful = sample.Unsuccessful,
            Cancelled = Volatile.Read(ref _cancelled),
            TimedOut = Volatile.Read(ref _timedOut),
        };
    }

    /// <summary>Counts an item that ended because its time was up or the call was stopped.</summary>
    protected void CountGivenUp(ItemStatus status)
    {
        if (status == ItemStatus.TimedOut)
        {
            Interlocked.Increment(ref _timedOut);
        }
        else if (status == ItemStatus.Cancelled)
        {
            Interlocked.Increment(ref _cancelled);
        }
    }

    protected abstract void CompleteSink(RunEnd end);

    protected override int ShareStuck(out bool shared)
    {
        int stuck = 0;
        shared = false;
        foreach (ItemRange<TItem, TResult> range in Ranges())
        {
            shared |= range.ShareIfStuck(out bool isStuck);
            stuck += isStuck ? 1 : 0;
        }

        return stuck;
    }

    private ItemRange<TItem, TResult>[] Ranges()
    {
        using (_lock.Hold())
        {
            return [.. _ranges];
        }
    }
}
