using System.Runtime.CompilerServices;
using System.Text;

namespace Weir.Explore.Tests;

/// <summary>
/// What the platform does with events that count or reset themselves, waits with limits, tasks in the order of their ends and periodic timers, against what
/// the explorer says that it can do. Small programs run on the platform many times, with pauses, and under a search of all schedules; what the platform shows
/// has to be among what the search has come to.
/// </summary>
public class OutcomeTests(ITestOutputHelper output)
{
    private const string Outcomes = "Weir.Explore.Tests.Outcomes";
    private const int Runs = 400;

    public static TheoryData<string> Names => [.. Programs.Keys];

    /// <summary>Those with one outcome have it in both; the others have at least two under the search, so that one that finds few is not taken for right.</summary>
    [Theory]
    [MemberData(nameof(Names))]
    public async Task Program_OnThePlatform_ShowsNothingElse(string name) => await CompareAsync(
        name, random => Programs[name].Run(random), async () => End(await Programs[name].Run(null)), Programs[name].Outcomes);

    private async Task CompareAsync(string name, Func<Random?, Task<string>> program, Func<Task> body, string[]? expected)
    {
        HashSet<string> explored = [];
        AppDomain.CurrentDomain.SetData(Outcomes, explored);
        ExploreResult result = Explore.Search(body, new ExploreOptions { MaxSchedules = 20_000 });
        Assert.True(result.Failure is null, result.Failure?.ToString());
        Dictionary<string, int> shown = [];
        Random random = new(7);
        for (int i = 0; i < Runs; i++)
        {
            string outcome = await program(random).WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
            shown[outcome] = shown.GetValueOrDefault(outcome) + 1;
        }

        output.WriteLine($"{name}: {result}\n  explored: {string.Join(" | ", explored.Order(StringComparer.Ordinal))}");
        output.WriteLine($"  on the platform: {string.Join(" | ", shown.OrderBy(static s => s.Key, StringComparer.Ordinal).Select(static s => $"{s.Key} ({s.Value})"))}");
        Assert.Empty(shown.Keys.Except(explored));
        if (expected is not null)
        {
            Assert.Equal(expected.Order(StringComparer.Ordinal), explored.Order(StringComparer.Ordinal));
        }
    }

    /// <summary>The rewritten copy of this class tells the original of each end of a schedule.</summary>
    private static void End(string end) => ((HashSet<string>)AppDomain.CurrentDomain.GetData(Outcomes)!).Add(end);

    /// <summary>On the platform, a thread pauses for a random time, most often for none. Under the explorer it does not: there is a point anyway.</summary>
    private static void Pause(Random? random)
    {
        if (random is null)
        {
            return;
        }

        int kind;
        int spins;
        lock (random)
        {
            (kind, spins) = (random.Next(8), random.Next(4_000));
        }

        if (kind == 0)
        {
            Thread.Sleep(0);
        }
        else if (kind < 4)
        {
            Thread.SpinWait(spins);
        }
    }

    private static async Task<string> TwoAsync(Random? random, Func<object> first, Func<object> second)
    {
        string?[] ends = await Task.WhenAll(Task.Run(() => Of(first)), Task.Run(() => Of(second)));
        return string.Join(' ', ends);

        string? Of(Func<object> program)
        {
            Pause(random);
            return Try(program);
        }
    }

    private static string? Try(Func<object> program)
    {
        try
        {
            return program().ToString();
        }
        catch (Exception error) when (error.GetType().Assembly == typeof(object).Assembly)
        {
            return error is AggregateException { InnerException: { } inner } ? $"Aggregate({inner.GetType().Name})" : error.GetType().Name;
        }
    }

    private static async Task<string> TryAsync(Func<Task<object>> program)
    {
        try
        {
            return (await program()).ToString()!;
        }
        catch (Exception error) when (error.GetType().Assembly == typeof(object).Assembly)
        {
            return error.GetType().Name;
        }
    }

    private static CancellationToken Cancelled => new(canceled: true);

    private static Task Never => new TaskCompletionSource().Task;

    private static readonly Dictionary<string, (Func<Random?, Task<string>> Run, string[] Outcomes)> Programs = new()
    {
        // One outcome each: what the platform says of limits, tokens and ends at once.
        ["Wait(0) with a token that is cancelled"] = (static _ => Sync(static () => Never.Wait(0, Cancelled)), ["False"]),
        ["Wait(5) with a token that is cancelled"] = (static _ => Sync(static () => Never.Wait(TimeSpan.FromSeconds(5), Cancelled)), ["OperationCanceledException"]),
        ["Wait(1) with a token"] = (static _ => Sync(static () => Never.Wait(1, new CancellationTokenSource().Token)), ["False"]),
        ["Wait of an ended task with a token that is cancelled"] = (static _ => Sync(static () => Task.CompletedTask.Wait(5, Cancelled)), ["True"]),
        ["Wait of a cancelled task with its token"] = (static _ => Sync(static () => Task.FromCanceled(Cancelled).Wait(5, Cancelled)), ["OperationCanceledException"]),
        ["Wait of a cancelled task with another token"] =
            (static _ => Sync(static () => Task.FromCanceled(Cancelled).Wait(5, new CancellationTokenSource().Token)), ["Aggregate(TaskCanceledException)"]),
        ["Wait with a limit that is none"] = (static _ => Sync(static () => Task.CompletedTask.Wait(-2)), ["ArgumentOutOfRangeException"]),
        ["WaitAll of a span"] = (static _ => Sync(static () =>
        {
            Task.WaitAll(Task.CompletedTask, Task.Run(static () => { }));
            return "all";
        }), ["all"]),
        ["WaitAll of a failed one"] = (static _ => Sync(static () =>
        {
            Task.WaitAll(Task.FromException(new FormatException()), Task.CompletedTask);
            return "all";
        }), ["Aggregate(FormatException)"]),
        ["WaitAll(0) with a token that is cancelled"] = (static _ => Sync(static () => Task.WaitAll([Never], 0, Cancelled)), ["OperationCanceledException"]),
        ["WaitAll(0)"] = (static _ => Sync(static () => Task.WaitAll([Never, Task.CompletedTask], 0)), ["False"]),
        ["WaitAll of ended ones with a token that is cancelled"] =
            (static _ => Sync(static () => Task.WaitAll([Task.CompletedTask], TimeSpan.FromSeconds(5))), ["True"]),
        ["WaitAny of none"] = (static _ => Sync(static () => Task.WaitAny([])), ["-1"]),
        ["WaitAny(1)"] = (static _ => Sync(static () => Task.WaitAny([Never], 1)), ["-1"]),
        ["WaitAny with a token that is cancelled"] = (static _ => Sync(static () => Task.WaitAny([Task.CompletedTask], Cancelled)), ["OperationCanceledException"]),
        ["WaitAny of the second"] = (static _ => Sync(static () => Task.WaitAny([Never, Task.CompletedTask], TimeSpan.FromSeconds(5))), ["1"]),
        ["WhenAny of none"] = (static _ => TryAsync(static async () => await Task.WhenAny(Array.Empty<Task>())), ["ArgumentException"]),
        ["WhenAll with null"] = (static _ => TryAsync(static async () =>
        {
            await Task.WhenAll(new Task[] { null! });
            return "all";
        }), ["ArgumentException"]),
        ["Unwrap"] = (static _ => TryAsync(static async () => await Task.Factory.StartNew(static () => Task.FromResult(3)).Unwrap()), ["3"]),
        ["Unwrap of null"] = (static _ => TryAsync(static async () =>
        {
            await Task.Factory.StartNew(static () => (Task)null!).Unwrap();
            return "ended";
        }), ["TaskCanceledException"]),
        ["Unwrap of a failed one"] = (static _ => TryAsync(static async () =>
        {
            await Task.FromException<Task>(new FormatException()).Unwrap();
            return "ended";
        }), ["FormatException"]),
        ["Run of null"] = (static _ => TryAsync(static async () =>
        {
            await Task.Run(static () => (Task?)null);
            return "ended";
        }), ["TaskCanceledException"]),
        ["ContinueWith with a state"] = (static _ => TryAsync(static async () =>
        {
            StringBuilder seen = new();
            await Task.FromResult(1).ContinueWith(static (t, s) => ((StringBuilder)s!).Append(t.Result), seen);
            await Task.FromResult(2).ContinueWith(static (t, s) => ((StringBuilder)s!).Append(t.Result), seen, CancellationToken.None);
            await ((Task)Task.FromResult(3)).ContinueWith(static (t, s) => s!, seen, TaskContinuationOptions.OnlyOnRanToCompletion);
            return await Task.FromResult(4).ContinueWith(static (t, s) => $"{s}{t.Result}", seen);
        }), ["124"]),
        ["StartNew with a state"] = (static _ => TryAsync(static async () =>
            await Task<int>.Factory.StartNew(static s => (int)s!, 5) + await Task.Factory.StartNew(static s => (int)s!, 6, CancellationToken.None)), ["11"]),
        ["RunSynchronously"] = (static _ => Sync(static () =>
        {
            int thread = Environment.CurrentManagedThreadId;
            Task<bool> task = new(() => Environment.CurrentManagedThreadId == thread);
            task.RunSynchronously();
            return task.Result;
        }), ["True"]),
        ["AutoResetEvent is taken once"] = (static _ => Sync(static () =>
        {
            using AutoResetEvent signal = new(true);
            signal.Set();
            return $"{signal.WaitOne(0)} {signal.WaitOne(0)} {WaitHandle.WaitAny([signal], 1)}";
        }), ["True False 258"]),
        ["Events that are disposed of"] = (static _ => Sync(static () =>
        {
            AutoResetEvent signal = new(true);
            signal.Dispose();
            return signal.WaitOne(0);
        }), ["ObjectDisposedException"]),
        ["WaitAll of events takes all or none"] = (static _ => Sync(static () =>
        {
            using AutoResetEvent first = new(true);
            using AutoResetEvent second = new(false);
            using EventWaitHandle third = new(true, EventResetMode.ManualReset);
            bool all = WaitHandle.WaitAll([first, second, third], 1);
            second.Set();
            return $"{all} {WaitHandle.WaitAll([first, second, third])} {first.WaitOne(0)} {third.WaitOne(0)}";
        }), ["False True False True"]),
        ["WaitAny of events takes the first"] = (static _ => Sync(static () =>
        {
            using AutoResetEvent first = new(false);
            using AutoResetEvent second = new(true);
            using ManualResetEvent third = new(true);
            return $"{WaitHandle.WaitAny([first, second, third])} {WaitHandle.WaitAny([first, second, third])} {WaitHandle.WaitAny([first, second], 0)}";
        }), ["1 2 258"]),
        ["CountdownEvent below zero"] = (static _ => Sync(static () =>
        {
            CountdownEvent left = new(1);
            return $"{left.Signal()} {left.IsSet} {left.TryAddCount()} {Try(() => left.Signal())}";
        }), ["True True False InvalidOperationException"]),
        ["PeriodicTimer that is disposed of"] = (static _ => TryAsync(static async () =>
        {
            PeriodicTimer timer = new(TimeSpan.FromHours(1));
            ValueTask<bool> wait = timer.WaitForNextTickAsync();
            string again = Try(() => timer.WaitForNextTickAsync())!;
            timer.Dispose();
            return $"{again} {await wait} {await timer.WaitForNextTickAsync()} {Try(() => timer.Period = TimeSpan.FromSeconds(1))}";
        }), ["InvalidOperationException False False ObjectDisposedException"]),
        ["PeriodicTimer whose wait is cancelled"] = (static _ => TryAsync(static async () =>
        {
            using PeriodicTimer timer = new(TimeSpan.FromHours(1));
            using CancellationTokenSource source = new();
            ValueTask<bool> wait = timer.WaitForNextTickAsync(source.Token);
            source.Cancel();
            string first = await TryAsync(async () => await wait);
            timer.Period = TimeSpan.FromMilliseconds(1);
            return $"{first} {await timer.WaitForNextTickAsync()} {await TryAsync(async () => await timer.WaitForNextTickAsync(source.Token))}";
        }), ["OperationCanceledException True TaskCanceledException"]),
        ["PeriodicTimer with no period"] = (static _ => Sync(static () => new PeriodicTimer(TimeSpan.Zero)), ["ArgumentOutOfRangeException"]),
        ["PeriodicTimer of a provider"] = (static _ => TryAsync(static async () =>
        {
            HandClock clock = new();
            using PeriodicTimer timer = new(TimeSpan.FromSeconds(1), clock);
            clock.Fire();
            clock.Fire();
            bool first = await timer.WaitForNextTickAsync();
            ValueTask<bool> second = timer.WaitForNextTickAsync();
            bool isThere = second.IsCompleted;
            clock.Fire();
            return $"{first} {isThere} {await second}";
        }), ["True False True"]),
        ["WhenEach of ended ones, twice"] = (static _ => TryAsync(static async () =>
        {
            IAsyncEnumerable<Task<int>> each = Task.WhenEach(Task.FromResult(2), Task.FromResult(1));
            return $"{await AllAsync(each)}|{await AllAsync(each)}|{await AllAsync(Task.WhenEach(new List<Task<int>>()))}";
        }), ["2 1 ||"]),
        ["WhenEach that is cancelled"] = (static _ => TryAsync(static async () =>
        {
            using CancellationTokenSource source = new();
            IAsyncEnumerator<Task> each = Task.WhenEach(Task.CompletedTask, Never).GetAsyncEnumerator(source.Token);
            bool first = await each.MoveNextAsync();
            ValueTask<bool> second = each.MoveNextAsync();
            source.Cancel();
            return $"{first} {await TryAsync(async () => await second)} {await each.MoveNextAsync()}";
        }), ["True TaskCanceledException False"]),

        // Several outcomes: threads that meet.
        ["Set against WaitOne"] = (static random =>
        {
            AutoResetEvent signal = new(false);
            return TwoAsync(random, () => signal.Set(), () => $"{signal.WaitOne(0)}{signal.WaitOne(0)}");
        }, ["True FalseFalse", "True FalseTrue", "True TrueFalse"]),
        ["two sets against two waits"] = (static random =>
        {
            AutoResetEvent signal = new(false);
            return TwoAsync(
                random,
                () =>
                {
                    signal.Set();
                    Pause(random);
                    return signal.Set();
                },
                () => $"{signal.WaitOne()}{signal.WaitOne(0)}");
        }, ["True TrueFalse", "True TrueTrue"]),
        ["two waits for one of two events"] = (static random =>
        {
            AutoResetEvent first = new(false);
            AutoResetEvent second = new(false);
            return TwoAsync(
                random,
                () => first.Set() | second.Set(),
                () => $"{WaitHandle.WaitAny([first, second])}{WaitHandle.WaitAny([first, second])}");
        }, ["True 01"]),
        ["Signal against IsSet and Wait"] = (static random =>
        {
            CountdownEvent left = new(1);
            return TwoAsync(random, () => left.Signal(), () => $"{left.IsSet}{left.Wait(0)}{left.CurrentCount}");
        }, ["True FalseFalse0", "True FalseFalse1", "True FalseTrue0", "True TrueFalse0", "True TrueTrue0"]),
        ["Signal against AddCount"] = (static random =>
        {
            CountdownEvent left = new(1);
            return TwoAsync(random, () => left.Signal(), () => $"{left.TryAddCount()}{left.IsSet}");
        }, ["False TrueFalse", "True FalseTrue"]),
        ["two signals of the last one"] = (static random =>
        {
            CountdownEvent left = new(1);
            return TwoAsync(random, () => left.Signal(), () => left.Signal());
        }, ["InvalidOperationException True", "True InvalidOperationException"]),
        ["Barrier"] = (static random =>
        {
            int phases = 0;
            Barrier barrier = new(2, _ => phases++);
            return TwoAsync(random, () => Phase(barrier), () => Phase(barrier));

            static long Phase(Barrier barrier)
            {
                barrier.SignalAndWait();
                return barrier.CurrentPhaseNumber;
            }
        }, ["1 1"]),
        ["the end of a task against Wait(0)"] = (static random =>
        {
            TaskCompletionSource source = new();
            return TwoAsync(random, source.TrySetResult() ? () => "" : () => "", () => source.Task.Wait(0, CancellationToken.None));
        }, [" True"]),
        ["cancel against Wait"] = (static random =>
        {
            TaskCompletionSource ended = new();
            CancellationTokenSource source = new();
            return TwoAsync(
                random,
                () =>
                {
                    source.Cancel();
                    return ended.TrySetResult();
                },
                () => ended.Task.Wait(Timeout.Infinite, source.Token));
        }, ["True OperationCanceledException", "True True"]),
        ["the first end of two against WaitAny"] = (static random =>
        {
            TaskCompletionSource first = new();
            TaskCompletionSource second = new();
            return TwoAsync(
                random,
                () =>
                {
                    second.SetResult();
                    Pause(random);
                    return first.TrySetResult();
                },
                () => Task.WaitAny(first.Task, second.Task));
        }, ["True 0", "True 1"]),
        ["the ends of two against WhenEach"] = (static async random =>
        {
            TaskCompletionSource first = new(TaskCreationOptions.RunContinuationsAsynchronously);
            TaskCompletionSource second = new();
            IAsyncEnumerable<Task> each = Task.WhenEach(first.Task, second.Task);
            Task<string> ends = TwoAsync(random, () => first.TrySetResult(), () => second.TrySetResult());
            StringBuilder seen = new();
            await foreach (Task task in each)
            {
                seen.Append(task == first.Task ? '1' : '2');
            }

            return $"{seen} {await ends}";
        }, ["12 True True", "21 True True"]),
        ["Dispose against a wait for a tick"] = (static async random =>
        {
            PeriodicTimer timer = new(TimeSpan.FromHours(1));
            Task<string> dispose = Task.Run(() =>
            {
                Pause(random);
                timer.Dispose();
                return "";
            });
            Pause(random);
            return $"{await timer.WaitForNextTickAsync()}{await dispose}";
        }, ["False"]),
        ["cancel against Dispose, of a wait for a tick"] = (static async random =>
        {
            PeriodicTimer timer = new(TimeSpan.FromHours(1));
            CancellationTokenSource source = new();
            ValueTask<bool> wait = timer.WaitForNextTickAsync(source.Token);
            Task cancel = Task.Run(() =>
            {
                Pause(random);
                source.Cancel();
            });
            Pause(random);
            timer.Dispose();
            string end = await TryAsync(async () => await wait);
            await cancel;
            return $"{end} {await timer.WaitForNextTickAsync()}";
        }, ["False False", "OperationCanceledException False"]),
    };

    private static Task<string> Sync(Func<object> program) => Task.FromResult(Try(program)!);

    private static async Task<string> AllAsync(IAsyncEnumerable<Task<int>> each)
    {
        StringBuilder seen = new();
        await foreach (Task<int> task in each)
        {
            seen.Append(await task).Append(' ');
        }

        return seen.ToString();
    }

    /// <summary>Fires its one timer when it is told to.</summary>
    private sealed class HandClock : TimeProvider
    {
        private Action? _fire;

        public void Fire() => _fire!();

        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
        {
            _fire = () => callback(state);
            return new HandTimer();
        }

        private sealed class HandTimer : ITimer
        {
            public bool Change(TimeSpan dueTime, TimeSpan period) => true;

            public void Dispose()
            {
            }

            public ValueTask DisposeAsync() => default;
        }
    }
}
