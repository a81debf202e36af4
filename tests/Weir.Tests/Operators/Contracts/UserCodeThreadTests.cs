using System.Collections.Concurrent;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Operators.Contracts;

/// <summary>Where does user code run, and with what context?</summary>
public class UserCodeThreadTests
{
    private static readonly AsyncLocal<string> Ambient = new();

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.All))]
    public async Task Call_FromAContext_RunsUserCodeElsewhere(OperatorFamily family, SourceKind kind)
    {
        ConcurrentDictionary<int, bool> threads = new();
        ConcurrentQueue<SynchronizationContext?> contexts = [];
        ThreadContext context = new();
        ValueTask Note()
        {
            threads[Environment.CurrentManagedThreadId] = true;
            contexts.Enqueue(SynchronizationContext.Current);
            return default;
        }

        ParallelRunOptions options = new()
        {
            MaxDegreeOfParallelism = 3,
            ErrorMode = ErrorMode.BestEffort,
            OnStartItemAsync = _ => Note(),
            OnCompleteItemAsync = _ => Note(),
            OnErrorAsync = (_, _) =>
            {
                Note();
                return new(true);
            },
        };
        (List<int> results, int caller) = await ThreadContext.RunAsync(
            () => family.RunAsync(
                TestSource.Of(kind, 50),
                async (item, _) =>
                {
                    await Note();
                    await Task.Yield();
                    await Note();
                    return item == 7 ? throw new TestException("seven") : item;
                },
                options),
            context);
        Assert.Equal(49, results.Count);
        Assert.DoesNotContain(caller, threads.Keys);
        Assert.All(contexts, Assert.Null);
        Assert.Equal(0, context.Posts);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyFamily), MemberType = typeof(Cases))]
    public async Task Item_CompletedByAForeignThread_NextItemsDoNotRunThere(OperatorFamily family)
    {
        TaskCompletionSource first = new();
        using Gate started = new();
        ConcurrentDictionary<int, bool> threads = new();
        Task<List<int>> running = family.RunAsync(
            TestSource.Of(SourceKind.Array, 20),
            (item, _) =>
            {
                if (item > 0)
                {
                    threads[Environment.CurrentManagedThreadId] = true;
                    return new(item);
                }

                started.Open();
                return new(first.Task.ContinueWith(static _ => 0, CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default));
            },
            new() { MaxDegreeOfParallelism = 1 });
        await started.WaitAsync();
        (_, int completer) = await ThreadContext.RunAsync(() =>
        {
            first.SetResult();
            return running;
        });
        Assert.Equal(19, threads.IsEmpty ? 0 : (await running).Count(static r => r > 0));
        Assert.DoesNotContain(completer, threads.Keys);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [FewOf(nameof(Cases.All))]
    public async Task Call_WithAsyncLocal_FlowsIntoUserCodeAndNotBack(OperatorFamily family, SourceKind kind)
    {
        Ambient.Value = "caller";
        ConcurrentQueue<string?> seen = [];
        await family.RunAsync(
            TestSource.Of(kind, 30),
            async (item, _) =>
            {
                seen.Enqueue(Ambient.Value);
                await Task.Yield();
                seen.Enqueue(Ambient.Value);
                Ambient.Value = "item";
                return item;
            },
            new()
            {
                MaxDegreeOfParallelism = 3,
                OnStartItemAsync = _ =>
                {
                    seen.Enqueue(Ambient.Value);
                    return default;
                },
            }).WithinAsync();
        Assert.Equal(90, seen.Count);
        Assert.All(seen, static value => Assert.Equal("caller", value));
        Assert.Equal("caller", Ambient.Value);
    }

    [Theory(Timeout = Selectors.Timeout)]
    [MemberData(nameof(Cases.AnyFamily), MemberType = typeof(Cases))]
    public async Task Call_WithSuppressedFlow_RunsWithoutTheCallersContext(OperatorFamily family)
    {
        Ambient.Value = "caller";
        ConcurrentQueue<string?> seen = [];
        Task<List<int>> running;
        using (ExecutionContext.SuppressFlow())
        {
            running = family.RunAsync(
                TestSource.Of(SourceKind.Array, 10),
                (item, _) =>
                {
                    seen.Enqueue(Ambient.Value);
                    return new(item);
                });
        }

        await running.WithinAsync();
        Assert.All(seen, Assert.Null);
    }

    [Fact(Timeout = Selectors.Timeout)]
    public async Task Cancel_WhileTheRunHasNoThread_DisposesTheSourceElsewhere()
    {
        // Many runs, so that some are cancelled while their worker waits for a thread.
        ConcurrentBag<int> disposers = [];
        int caller = 0;
        await ThreadContext.RunAsync(() =>
        {
            caller = Environment.CurrentManagedThreadId;
            List<Task> ends = [];
            for (int i = 0; i < 50; i++)
            {
                using CancellationTokenSource stop = new();
                Task run = Numbers().ForEachParallelAsync(static (_, _) => default, new() { MaxDegreeOfParallelism = 1 }, stop.Token);
                Thread.SpinWait(20_000);
                stop.Cancel();
                ends.Add(run.EndsAsync());
            }

            return Task.WhenAll(ends).ContinueWith(static _ => 0, TaskScheduler.Default);
        });
        Assert.DoesNotContain(caller, disposers);

        IEnumerable<int> Numbers()
        {
            try
            {
                for (int i = 0; ; i++)
                {
                    yield return i;
                }
            }
            finally
            {
                disposers.Add(Environment.CurrentManagedThreadId);
            }
        }
    }
}
