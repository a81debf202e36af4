using Weir.Runtimes;

namespace Weir.Delivery.Tests.Fleets;

/// <summary>A host, and the connection between it and the queue. It is the source of its host: what it says to the queue may fail, and it may die.</summary>
internal sealed class FleetWorker : IWorkSource<int>
{
    private readonly Fleet _fleet;
    private readonly IWorkSource<int> _queue;
    private readonly CancellationTokenSource _stop = new();
    private CancellationTokenSource _connection = new();
    private int _running;

    public FleetWorker(Fleet fleet, IWorkSource<int> queue, IExecutionRuntime runtime, double slowness)
    {
        _fleet = fleet;
        _queue = queue;
        Slowness = slowness;
        Host = new WorkHost<int>(this, runtime, ProcessAsync, new WorkHostOptions<int>
        {
            DeadLetters = fleet.Queue.DeadLetters,
            Serializer = Hosts.IntSerializer.Instance,
            TimeProvider = fleet.Clock,
            MaxItemsInFlight = 1,
            MaxItemsPerCall = Fleet.BatchSize,
            MaxConcurrentCalls = 1,
        });
    }

    public WorkHost<int> Host { get; }

    public double Slowness { get; }

    public Task Run { get; private set; } = Task.CompletedTask;

    /// <summary>What it has read and not settled. The queue holds it for the worker, dead or alive.</summary>
    public WorkBatch<int>? Held { get; private set; }

    /// <summary>The items of it whose effect is there.</summary>
    public List<int> Ended { get; } = [];

    public bool IsDead { get; private set; }

    public bool HasLeft { get; private set; }

    public bool IsGone { get; private set; }

    /// <summary>Whether it does something that needs no clock. Guarded by the lock of the fleet, as all states are.</summary>
    public bool IsBusy { get; set; }

    /// <summary>Whether it waits for the next batch.</summary>
    public bool IsReading { get; private set; }

    /// <summary>Whether a call has failed, and the pause before the next has not begun.</summary>
    public bool IsFailing { get; set; }

    /// <summary>When it first heard from the queue since somebody asked.</summary>
    public TimeSpan? Heard { get; set; }

    public string Name => "fleet";

    public AcknowledgementOrder Order => AcknowledgementOrder.Any;

    public IRedelivery<int>? Redelivery => null;

    public void Start()
    {
        _fleet.SetBusy(this);
        Run = Task.Run(async () =>
        {
            Fleet.Current.Value = this;
            try
            {
                await Host.RunAsync(_stop.Token);
                if (!IsDead)
                {
                    await _queue.DisposeAsync();
                }
            }
            finally
            {
                lock (_fleet.Lock)
                {
                    IsGone = true;
                    Held = IsDead ? Held : null;
                    _fleet.SetIdle(this);
                }
            }
        });
    }

    /// <summary>Stops it in an orderly way.</summary>
    public void Leave()
    {
        HasLeft = true;
        lock (_fleet.Lock)
        {
            Notice();
        }

        _stop.Cancel();
    }

    /// <summary>Its connection breaks.</summary>
    public void Disconnect()
    {
        CancellationTokenSource connection;
        lock (_fleet.Lock)
        {
            Notice();
            (connection, _connection) = (_connection, new CancellationTokenSource());
        }

        connection.Cancel();
    }

    /// <summary>Ends it in the middle of whatever it does. The queue learns of it when the lease ends.</summary>
    public void Die()
    {
        lock (_fleet.Lock)
        {
            Notice();
            IsDead = true;
            _fleet.SetIdle(this);
        }

        Host.Abort();
    }

    /// <summary>The queue gives what it held to others.</summary>
    public void EndLease()
    {
        _queue.DisposeAsync().AsTask().GetAwaiter().GetResult();
        lock (_fleet.Lock)
        {
            Held = null;
        }
    }

    public async ValueTask<WorkBatch<int>?> ReadAsync(CancellationToken cancellationToken)
    {
        CancellationTokenSource linked;
        lock (_fleet.Lock)
        {
            Call();
            IsReading = true;
            linked = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _connection.Token);
            _fleet.SetIdle(this);
        }

        WorkBatch<int>? batch = null;
        try
        {
            batch = await _queue.ReadAsync(linked.Token);
            return batch;
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            lock (_fleet.Lock)
            {
                IsFailing = !IsDead;
            }

            throw new IOException("The connection broke.");
        }
        finally
        {
            linked.Dispose();
            lock (_fleet.Lock)
            {
                Notice();
                Heard ??= IsFailing ? null : _fleet.Clock.Now;
                Held = batch;
                _running = 0;
                Ended.Clear();
            }
        }
    }

    public async ValueTask AcknowledgeAsync(IReadOnlyList<WorkBatch<int>> batches, CancellationToken cancellationToken)
    {
        lock (_fleet.Lock)
        {
            Call();
        }

        await _queue.AcknowledgeAsync(batches, cancellationToken);
        lock (_fleet.Lock)
        {
            Heard ??= _fleet.Clock.Now;
            Held = null;
        }
    }

    public async ValueTask ReturnAsync(IReadOnlyList<WorkBatch<int>> batches, CancellationToken cancellationToken)
    {
        lock (_fleet.Lock)
        {
            Call();
        }

        await _queue.ReturnAsync(batches, cancellationToken);
        lock (_fleet.Lock)
        {
            Held = null;
        }
    }

    public ValueTask DisposeAsync() => default;

    private async ValueTask ProcessAsync(WorkItem<int> item, CancellationToken cancellationToken)
    {
        var end = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ITimer timer = _fleet.Clock.CreateTimer(
            _ =>
            {
                lock (_fleet.Lock)
                {
                    if (IsDead)
                    {
                        return;
                    }

                    _fleet.Processed(item.Value);
                    Ended.Add(item.Value);
                    if (Ended.Count == Held!.Items.Count)
                    {
                        _fleet.SetBusy(this);
                    }
                }

                end.SetResult();
            },
            null,
            _fleet.DurationOf(item.Value) * Slowness,
            Timeout.InfiniteTimeSpan);
        lock (_fleet.Lock)
        {
            // From now on, only the clock can bring it on.
            if (!IsDead && ++_running == Held!.Items.Count)
            {
                _fleet.SetIdle(this);
            }
        }

        await end.Task.WaitAsync(cancellationToken);
    }

    private void Call()
    {
        if (IsDead || _fleet.IsAway)
        {
            IsFailing = !IsDead;
            throw new IOException("Nobody answers.");
        }
    }

    private void Notice()
    {
        if (IsReading)
        {
            IsReading = false;
            if (!IsDead)
            {
                _fleet.SetBusy(this);
            }
        }
    }
}
