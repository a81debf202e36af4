namespace Weir.Cli.Commands.Load;

/// <summary>The arms of a run with their runtimes, and the items that they share.</summary>
internal sealed class LoadArms : IAsyncDisposable
{
    private readonly List<IExecutionRuntime> _runtimes = [];
    private readonly List<LoadArm> _arms = [];

    private LoadArms()
    {
    }

    /// <summary>The arms in the order of the report.</summary>
    public IReadOnlyList<LoadArm> Arms => _arms;

    public static LoadArms Create(LoadSettings settings, LoadWork work, Func<RuntimeChoice, IExecutionRuntime> createRuntime)
    {
        LoadArms arms = new();
        ItemBatches batches = new(settings.Count, settings.BatchSize);
        ItemBatches? warmup = settings.Warmup > 0 ? new(settings.Warmup, Math.Min(settings.BatchSize, settings.Warmup)) : null;
        PassResult expected = ItemChecksum.Expected(work.Expect, settings.Count);

        TrialArm Arm(string name, Func<ItemBatches, CancellationToken, ValueTask<PassResult>> run, Func<long> itemsDone) => new(
            name, expected, token => run(batches, token))
        {
            WarmUp = warmup is null ? null : async token => await run(warmup, token),
            ItemsDone = itemsDone,
        };

        LoadWork Seen(WatchMeter? meter) => meter is null ? work : work with { Processor = meter.Around(work.Processor) };

        foreach (RuntimeChoice choice in settings.Choices)
        {
            IExecutionRuntime runtime = createRuntime(choice);
            arms._runtimes.Add(runtime);
            WatchMeter? meter = settings.Watch ? new() : null;
            RuntimeArm arm = new(runtime, Seen(meter), settings);
            arms._arms.Add(new LoadArm(Arm(choice.Name, arm.RunAsync, () => arm.ItemsDone), choice)
            {
                Decisions = () => arm.Decisions,
                Watched = meter is null ? null : new WatchedArm(choice.Name, choice.Size, meter),
            });
        }

        foreach (Peer peer in settings.Peers ? Peer.All : [])
        {
            WatchMeter? meter = settings.Watch ? new() : null;
            PeerArm arm = new(peer, Seen(meter), settings);
            arms._arms.Add(new LoadArm(Arm(peer.Name, arm.RunAsync, () => arm.ItemsDone), null)
            {
                Watched = meter is null ? null : new WatchedArm(peer.Name, peer.DegreeOf(settings.PeerDegree), meter),
            });
        }

        return arms;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (IExecutionRuntime runtime in _runtimes)
        {
            await runtime.DisposeAsync();
        }
    }
}

/// <summary>An arm of a run.</summary>
/// <param name="Arm">What is measured.</param>
/// <param name="Choice">The runtime; <see langword="null"/> for a peer.</param>
internal sealed record LoadArm(TrialArm Arm, RuntimeChoice? Choice)
{
    /// <summary>What is shown of it while it runs; <see langword="null"/> when nothing is.</summary>
    public WatchedArm? Watched { get; init; }

    /// <summary>The decisions of the runtime; empty for a runtime that makes none.</summary>
    public Func<IReadOnlyList<DecisionRecord>> Decisions { get; init; } = static () => [];
}

/// <summary>Pushes all batches through a runtime, and adds up its outcomes.</summary>
internal sealed class RuntimeArm(IExecutionRuntime runtime, LoadWork work, LoadSettings settings)
{
    private IReadOnlyList<AutoDecision>? _firstDecisions;
    private readonly ProcessManyOptions _options = new() { PerItemTimeout = settings.Timeout };

    /// <summary>The number of items that the runtime has completed, including those of a running call.</summary>
    public long ItemsDone
    {
        get
        {
            RuntimeStatistics statistics = runtime.Statistics;
            return statistics.Succeeded + statistics.Failed + statistics.Cancelled;
        }
    }

    /// <summary>What the auto runtime decided in its first call and in its last one.</summary>
    public IReadOnlyList<DecisionRecord> Decisions =>
        runtime is not AutoRuntime auto
            ? []
            :
            [
                .. (_firstDecisions ?? []).Select(static decision => Record("first", decision)),
                .. auto.LastDecisions.Select(static decision => Record("last", decision)),
            ];

    public async ValueTask<PassResult> RunAsync(ItemBatches batches, CancellationToken cancellationToken)
    {
        OutcomeTally tally = new(work);
        for (long first = 0; first < batches.Count; first += batches.BatchSize)
        {
            int[] items = batches.From((int)first);
            if (settings.PreserveOrder)
            {
                tally.Add(await runtime.ProcessManyAsync(items, work.Processor, _options, cancellationToken), (int)first);
            }
            else
            {
                await foreach ((int index, ItemOutcome<int, int> outcome) in runtime.ProcessManyStreamAsync(
                    items, work.Processor, orderedOutput: false, _options, cancellationToken))
                {
                    tally.Add(outcome, (int)first + index);
                }
            }

            _firstDecisions ??= (runtime as AutoRuntime)?.LastDecisions;
        }

        return tally.Result;
    }

    private static DecisionRecord Record(string call, AutoDecision decision) => new()
    {
        Call = call,
        AtSeconds = Math.Round(decision.At.TotalSeconds, 6),
        Items = decision.Items,
        From = decision.From.ToString().ToLowerInvariant(),
        To = decision.To.ToString().ToLowerInvariant(),
        Threads = decision.Threads,
        InFlight = decision.InFlight,
        Reason = decision.Reason,
    };
}

/// <summary>Pushes the same batches through a peer, and adds up the results alike.</summary>
/// <remarks>
/// A peer stores the result of each item of a batch in a new array, in input order, as a runtime does. It has no outcome for a failed
/// item, so if items fail, its work catches the exception and returns a marker instead.
/// </remarks>
internal sealed class PeerArm
{
    private readonly Peer _peer;
    private readonly int _degree;
    private readonly Func<int, CancellationToken, ValueTask<int>> _processor;
    private long _done;

    public PeerArm(Peer peer, LoadWork work, LoadSettings settings)
    {
        _peer = peer;
        _degree = settings.PeerDegree;
        _processor = settings.FailRate > 0 ? Guarded(work.Processor) : work.Processor;
    }

    /// <summary>How many items have been done, in whole batches.</summary>
    public long ItemsDone => Volatile.Read(ref _done);

    public async ValueTask<PassResult> RunAsync(ItemBatches batches, CancellationToken cancellationToken)
    {
        long sum = 0;
        long failed = 0;
        long count = 0;
        for (long first = 0; first < batches.Count; first += batches.BatchSize)
        {
            int[] items = batches.From((int)first);
            int[] results = await _peer.RunAsync(items, _degree, _processor, cancellationToken);
            sum += Add(results, (int)first, ref failed);
            count += results.Length;
            Volatile.Write(ref _done, _done + results.Length);
        }

        return new PassResult(count, sum) { Failed = failed };
    }

    private static long Add(int[] results, int first, ref long failed)
    {
        long sum = 0;
        for (int i = 0; i < results.Length; i++)
        {
            if (results[i] == LoadWork.Failed)
            {
                failed++;
            }

            sum += ItemChecksum.Part(results[i], first + i);
        }

        return sum;
    }

    private static Func<int, CancellationToken, ValueTask<int>> Guarded(Func<int, CancellationToken, ValueTask<int>> processor) =>
        (item, cancellationToken) =>
        {
            ValueTask<int> pending = processor(item, cancellationToken);
            return pending.IsCompletedSuccessfully ? pending : FinishAsync(pending);
        };

    private static async ValueTask<int> FinishAsync(ValueTask<int> pending)
    {
        try
        {
            return await pending;
        }
        catch (IntendedFailureException)
        {
            return LoadWork.Failed;
        }
    }
}

/// <summary>
/// The items 0, 1, 2 and so on in batches. A batch is created on demand, in memory that the next batch reuses, so that any number of items needs the memory of
/// one batch.
/// </summary>
internal sealed class ItemBatches(int count, int batchSize)
{
    private readonly Filled _full = new(Math.Min(batchSize, count));
    private readonly Filled _last = new(count % batchSize);

    /// <summary>How many items there are.</summary>
    public int Count => count;

    /// <summary>How many items a batch has; the last one may have fewer.</summary>
    public int BatchSize => batchSize;

    /// <summary>The batch that starts with an item. It is valid until the next one is asked for.</summary>
    public int[] From(int first) => count - first >= batchSize ? _full.From(first) : _last.From(first);

    private sealed class Filled(int size)
    {
        private readonly int[] _items = new int[size];
        private int _first = -1;

        public int[] From(int first)
        {
            // A single batch is filled once and serves every pass.
            if (_first != first)
            {
                for (int i = 0; i < _items.Length; i++)
                {
                    _items[i] = first + i;
                }

                _first = first;
            }

            return _items;
        }
    }
}

/// <summary>Adds up the outcomes of one pass of a runtime.</summary>
internal struct OutcomeTally(LoadWork work)
{
    private long _count;
    private long _sum;
    private long _failed;
    private long _timedOut;
    private string? _trouble;

    public readonly PassResult Result => new(_count, _sum) { Failed = _failed, TimedOut = _timedOut, Trouble = _trouble };

    /// <summary>Adds the outcomes of a batch.</summary>
    public void Add(ItemOutcome<int, int>[] outcomes, int first)
    {
        long sum = 0;
        for (int i = 0; i < outcomes.Length; i++)
        {
            if (outcomes[i].IsSuccess)
            {
                sum += ItemChecksum.Part(outcomes[i].ValueOrDefault, first + i);
            }
            else
            {
                AddOther(outcomes[i], first + i);
            }
        }

        _sum += sum;
        _count += outcomes.Length;
    }

    public void Add(in ItemOutcome<int, int> outcome, int item)
    {
        _count++;
        if (outcome.IsSuccess)
        {
            _sum += ItemChecksum.Part(outcome.ValueOrDefault, item);
        }
        else
        {
            AddOther(outcome, item);
        }
    }

    private void AddOther(in ItemOutcome<int, int> outcome, int item)
    {
        switch (outcome)
        {
            case { Status: ItemStatus.Failed, Error: IntendedFailureException }:
                _failed++;
                _sum += ItemChecksum.Part(LoadWork.Failed, item);
                break;

            // It is not known in advance which items time out: the checksum covers the others.
            case { Status: ItemStatus.TimedOut }:
                _timedOut++;
                _sum += ItemChecksum.Part(work.Expect(item), item);
                break;

            default:
                _count--;
                _trouble ??= FormattableString.Invariant($"item {item} ended as {outcome.Status}")
                    + (outcome.Error is { } error ? $" with {error.GetType().Name}: {error.Message.TrimEnd('.')}" : "");
                break;
        }
    }
}

/// <summary>The work that is done for each item, and what its result must be.</summary>
/// <param name="Processor">Does the work. It is a field and not a method, so that all arms call the same delegate.</param>
/// <param name="Expect">The result that an item must have, found without doing the work. It is not negative, but for <see cref="Failed"/>.</param>
/// <param name="Description">What is done, for the report.</param>
internal sealed record LoadWork(Func<int, CancellationToken, ValueTask<int>> Processor, Func<int, int> Expect, string Description)
{
    /// <summary>The result that stands for a failure.</summary>
    public const int Failed = int.MinValue;

    /// <summary>This work, of which a share of the items fail at the end. Every pass fails on the same items.</summary>
    public LoadWork Failing(double rate)
    {
        (Func<int, CancellationToken, ValueTask<int>> processor, Func<int, int> expect) = (Processor, Expect);
        bool Fails(int item) => Share.IsPicked(item, rate, salt: 2);

        async ValueTask<int> FailAsync(int item, CancellationToken cancellationToken)
        {
            await processor(item, cancellationToken);
            throw new IntendedFailureException(item);
        }

        return new LoadWork(
            (item, cancellationToken) => Fails(item) ? FailAsync(item, cancellationToken) : processor(item, cancellationToken),
            item => Fails(item) ? Failed : expect(item),
            string.Create(CultureInfo.InvariantCulture, $"{Description}; {rate:0.#####%} of the items throw then"));
    }
}

/// <summary>The failure of an item that <c>--fail-rate</c> selected.</summary>
internal sealed class IntendedFailureException(int item)
    : Exception(string.Create(CultureInfo.InvariantCulture, $"Item {item} is meant to fail."));
