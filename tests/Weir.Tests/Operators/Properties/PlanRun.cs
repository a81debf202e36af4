using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Properties;

/// <summary>One run of a plan, with the books that say what every item did.</summary>
internal sealed class PlanRun(RandomPlan plan) : IDisposable
{
    private readonly ConcurrentQueue<TaskCompletionSource> _parked = [];
    private readonly CancellationTokenSource _stop = new();
    private readonly int[] _done = new int[plan.Items.Length];

    public ConcurrencyProbe Probe { get; } = new();

    public ManualTimeProvider Clock { get; } = new();

    /// <summary>How often each item's selector was called.</summary>
    public int[] Calls { get; } = new int[plan.Items.Length];

    /// <summary>The items whose selector returned a result.</summary>
    public IEnumerable<int> Succeeded => Enumerable.Range(0, _done.Length).Where(i => Volatile.Read(ref _done[i]) == 1);

    /// <summary>The items whose selector threw an error of its own.</summary>
    public ConcurrentQueue<int> Failed { get; } = [];

    public ConcurrentQueue<int> Hooked { get; } = [];

    public ConcurrentQueue<int> Started { get; } = [];

    public ConcurrentQueue<int> Completed { get; } = [];

    public ConcurrentQueue<bool> Pauses { get; } = [];

    public List<int> Results { get; private set; } = [];

    public Exception? Error { get; private set; }

    public TestSource Source { get; private set; } = null!;

    public CancellationToken Token => _stop.Token;

    public bool WasCancelled => _stop.IsCancellationRequested;

    public void Dispose() => _stop.Dispose();

    public async Task RunAsync()
    {
        Source = TestSource.Of(plan.Kind, new SourcePlan
        {
            Count = plan.Items.Length,
            ThrowsAt = plan.End == EarlyEnd.SourceThrows ? plan.EndAt : null,
        });
        bool over = false;
        Task sweeper = Task.Run(async () =>
        {
            while (!Volatile.Read(ref over))
            {
                await Task.Yield();
                Unpark();
            }
        });
        Task running = plan.Family.IsStream() ? ConsumeAsync() : GatherAsync();
        try
        {
            await running.EndsAsync($"a run of: {plan}");
        }
        finally
        {
            Volatile.Write(ref over, true);
        }

        await sweeper.WithinAsync();
        Error = running.Exception?.InnerException;
        if (running.IsCanceled)
        {
            Error = await Record.ExceptionAsync(() => running);
        }
    }

    private async Task GatherAsync() => Results = await plan.Family.RunAsync(Source, Select, Options(), Token).ConfigureAwait(false);

    private async Task ConsumeAsync()
    {
        await foreach (int result in plan.Family.Open(Source, Select, Options(), Token).ConfigureAwait(false))
        {
            Results.Add(result);
            if (Results.Count > plan.EndAt)
            {
                if (plan.End == EarlyEnd.Break)
                {
                    return;
                }

                if (plan.End == EarlyEnd.ConsumerThrows)
                {
                    throw new TestException("consumer");
                }
            }

            if (result % 16 == 3)
            {
                await Task.Yield();
            }
        }
    }

    private ParallelRunOptions Options()
    {
        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = plan.Limit,
            ChannelCapacity = plan.Capacity,
            ErrorMode = plan.Mode,
            TimeProvider = Clock,
            PerItemTimeout = plan.Timed ? TimeSpan.FromHours(1) : null,
            OnErrorAsync = (index, _) =>
            {
                Hooked.Enqueue(index);
                return new(plan.End != EarlyEnd.HookStops);
            },
        };
        if (plan.ItemHooks)
        {
            options = options with { OnStartItemAsync = Note(Started), OnCompleteItemAsync = Note(Completed) };
        }

        return plan.PauseHooks ? options with { OnThrottleAsync = NotePause(true), OnDrainAsync = NotePause(false) } : options;
    }

    private static Func<int, ValueTask> Note(ConcurrentQueue<int> notes) => async index =>
    {
        notes.Enqueue(index);
        if (index % 2 == 0)
        {
            await Task.Yield();
        }
    };

    private Func<int, ValueTask> NotePause(bool pauses) => async _ =>
    {
        Pauses.Enqueue(pauses);
        await Task.Yield();
    };

    private ValueTask<int> Select(int item, CancellationToken token)
    {
        ConcurrencyProbe.Stay stay = Probe.Enter();
        Interlocked.Increment(ref Calls[item]);
        if (plan.End == EarlyEnd.Cancel && item == plan.EndAt)
        {
            _stop.Cancel();
        }

        switch (plan.Items[item])
        {
            case Behaviour.ThrowsAtOnce:
                Failed.Enqueue(item);
                stay.Dispose();
                throw new TestException($"item {item}");
            case Behaviour.Spins:
                Thread.SpinWait(item % 7 == 0 ? 20_000 : 500);
                break;
            case Behaviour.Sync:
                break;
            default:
                return SelectAsync(item, stay, token);
        }

        Volatile.Write(ref _done[item], 1);
        stay.Dispose();
        return new(item);
    }

    private async ValueTask<int> SelectAsync(int item, ConcurrencyProbe.Stay stay, CancellationToken token)
    {
        using (stay)
        {
            switch (plan.Items[item])
            {
                case Behaviour.HandedOver:
                    Unpark();
                    await ParkAsync(default);
                    break;
                case Behaviour.HandedOverOrCancelled:
                    await ParkAsync(token);
                    break;
                case Behaviour.YieldsOften:
                    for (int i = 0; i < item % 11; i++)
                    {
                        await Task.Yield();
                    }

                    break;
                case Behaviour.ThrowsLater:
                    await Task.Yield();
                    Failed.Enqueue(item);
                    throw new TestException($"item {item}");
                default:
                    await Task.Yield();
                    break;
            }
        }

        Volatile.Write(ref _done[item], 1);
        return item;
    }

    // Continuations run right where the handing over is done: inside another item, or inside a cancellation.
    private async Task ParkAsync(CancellationToken token)
    {
        TaskCompletionSource source = new();
        await using CancellationTokenRegistration link = token.UnsafeRegister(static (s, t) => ((TaskCompletionSource)s!).TrySetCanceled(t), source);
        _parked.Enqueue(source);
        await source.Task.ConfigureAwait(false);
    }

    private void Unpark()
    {
        while (_parked.TryDequeue(out TaskCompletionSource? source))
        {
            if (source.TrySetResult())
            {
                return;
            }
        }
    }
}
