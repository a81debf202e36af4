using Weir.Runtimes;

namespace Weir.Delivery.Tests.Fleets;

/// <summary>
/// Many hosts over one queue in memory. The clock moves only when each of them waits for it, or for work that is not there: so no figure depends on how busy
/// the machine is.
/// </summary>
internal sealed class Fleet : IAsyncDisposable
{
    public const int BatchSize = 4;

    /// <summary>The clock moves in steps, of which everything inside one happens at once. It bounds the error of what is measured.</summary>
    public static readonly TimeSpan Step = TimeSpan.FromMilliseconds(100);

    /// <summary>How long the queue holds what a dead worker had.</summary>
    public static readonly TimeSpan Lease = TimeSpan.FromSeconds(30);

    /// <summary>How long an item takes at most; at least a third of it.</summary>
    public static readonly TimeSpan Longest = TimeSpan.FromSeconds(1.5);

    public static readonly AsyncLocal<FleetWorker?> Current = new();

    private readonly ConcurrentRuntime _runtime = new(BatchSize);
    private readonly PriorityQueue<Func<Task>, (TimeSpan At, int Number)> _events = new();
    private readonly int[] _durations;
    private readonly int[] _counts;
    private readonly TimeSpan[] _lastEnds;
    private int _busy;
    private bool _isCompleted;

    public Fleet(int items, int seed)
    {
        var random = new Random(seed);
        _durations = [.. Enumerable.Range(0, items).Select(_ => random.Next(5, 16))];
        _counts = new int[items];
        _lastEnds = new TimeSpan[items];
        Queue = new MemoryWorkQueue<int>(
            "fleet", Hosts.IntSerializer.Instance, new MemoryWorkQueueOptions { MaxItemsPerBatch = BatchSize, Capacity = items, TimeProvider = Clock });
        Clock.OnArm = () =>
        {
            if (Current.Value is not { IsFailing: true } worker)
            {
                return null;
            }

            // Its pause before the next call.
            worker.IsFailing = false;
            return (() => SetIdle(worker), () => SetBusy(worker));
        };
    }

    public Lock Lock { get; } = new();

    public FleetClock Clock { get; } = new();

    public MemoryWorkQueue<int> Queue { get; }

    public List<FleetWorker> Workers { get; } = [];

    public bool IsAway { get; private set; }

    /// <summary>How often each item was processed.</summary>
    public IReadOnlyList<int> Counts => _counts;

    /// <summary>When each was processed for the last time.</summary>
    public IReadOnlyList<TimeSpan> LastEnds => _lastEnds;

    /// <summary>The items whose effect was there when their worker died: each is a duplicate, and there may be no others.</summary>
    public List<int> Expected { get; } = [];

    /// <summary>The items that a dead worker held, and when it died.</summary>
    public Dictionary<int, TimeSpan> Orphans { get; } = [];

    public TimeSpan DurationOf(int item) => TimeSpan.FromMilliseconds(100 * _durations[item]);

    /// <summary>How long full batches take at most on so many workers.</summary>
    public TimeSpan Bound(int workers) => (Longest * (_counts.Length / (double)(workers * BatchSize))) + Longest + Step;

    public async Task PublishAsync(int from, int to, bool singly)
    {
        await using IWorkSink<int> sink = await Queue.OpenSinkAsync();
        WorkItem<int>[] items = [.. Enumerable.Range(from, to - from).Select(static i => new WorkItem<int>(new WorkId("fleet", i), i))];
        foreach (WorkItem<int>[] part in items.Chunk(singly ? 1 : 1000))
        {
            await sink.WriteAsync(part, null, CancellationToken.None);
        }
    }

    public async Task JoinAsync(int count, double slowness = 1)
    {
        for (int i = 0; i < count; i++)
        {
            var worker = new FleetWorker(this, await Queue.OpenSourceAsync(), _runtime, slowness);
            Workers.Add(worker);
            worker.Start();
        }
    }

    /// <summary>Nothing more will be published: the workers end when all is done.</summary>
    public Task CompleteAsync()
    {
        lock (Lock)
        {
            _isCompleted = true;
        }

        Queue.Complete();
        return Task.CompletedTask;
    }

    /// <summary>Plans what happens at a moment on the clock, when everybody waits.</summary>
    public void At(TimeSpan time, Func<Task> happens) => _events.Enqueue(happens, (time, _events.Count));

    public void Kill(FleetWorker worker)
    {
        worker.Die();
        foreach (WorkItem<int> item in worker.Held?.Items ?? [])
        {
            Orphans[item.Value] = Clock.Now;
        }

        Expected.AddRange(worker.Held is null ? [] : worker.Ended);

        At(Clock.Now + Lease, () =>
        {
            worker.EndLease();
            return Task.CompletedTask;
        });
    }

    public void GoAway(TimeSpan time)
    {
        lock (Lock)
        {
            IsAway = true;
        }

        Workers.ForEach(static w => w.Disconnect());
        At(Clock.Now + time, () =>
        {
            lock (Lock)
            {
                IsAway = false;
                Workers.ForEach(static w => w.Heard = null);
            }

            return Task.CompletedTask;
        });
    }

    /// <summary>Runs until all workers have ended.</summary>
    public async Task RunAsync()
    {
        while (true)
        {
            await Guard.UntilAsync(() => IsQuiet() || Workers.Any(static w => w.Run.IsFaulted), "Everybody waits");
            if (Workers.Find(static w => w.Run.IsFaulted && !w.IsDead) is { } failed)
            {
                await failed.Run;
            }

            TimeSpan? next = Clock.NextDue is { } due ? TimeSpan.FromTicks((due.Ticks + Step.Ticks - 1) / Step.Ticks * Step.Ticks) : null;
            if (_events.TryPeek(out Func<Task>? happens, out (TimeSpan At, int) at) && (next is null || at.At <= next))
            {
                _events.Dequeue();
                Clock.AdvanceTo(at.At);
                await happens();
            }
            else if (Workers.TrueForAll(static w => w.IsGone || w.IsDead))
            {
                // Nobody waits for the dead, whose hosts may still be on their way out.
                await Task.WhenAll(Workers.Select(static w => w.Run)).WithinAsync("the end of the dead");
                return;
            }
            else
            {
                Clock.AdvanceTo(next ?? throw new TestException("Nobody would ever go on."));
            }
        }
    }

    public void SetBusy(FleetWorker worker)
    {
        lock (Lock)
        {
            _busy += worker.IsBusy || worker.IsDead ? 0 : 1;
            worker.IsBusy = !worker.IsDead;
        }
    }

    public void SetIdle(FleetWorker worker)
    {
        lock (Lock)
        {
            _busy -= worker.IsBusy ? 1 : 0;
            worker.IsBusy = false;
        }
    }

    public void Processed(int item)
    {
        _counts[item]++;
        _lastEnds[item] = Clock.Now;
    }

    public async ValueTask DisposeAsync()
    {
        await Queue.DisposeAsync();
        await _runtime.DisposeAsync();
    }

    // Nobody is on the way to something, and whoever waits for work would wait on: there is none that nobody has, and there may be some.
    private bool IsQuiet()
    {
        lock (Lock)
        {
            if (_busy > 0)
            {
                return false;
            }

            int left = Queue.Count;
            return !Workers.Exists(static w => w.IsReading)
                || (left == Workers.Sum(static w => w.Held?.Items.Count ?? 0) && (left > 0 || !_isCompleted));
        }
    }
}
