using System.Collections.Concurrent;
using Weir.Resilience;
using Weir.Runtimes;
using Weir.TestKit;
using Weir.Tests.Operators.Support;

namespace Weir.Tests.Runtimes;

/// <summary>A task source of the user that calls back again, or throws although it calls back, harms its own item at most.</summary>
public class FaultyTaskSourceTests
{
    private const int Count = 60;

    public enum Way
    {
        Parked,
        Array,
        Lazy,
        Async,
        Stream,
        Timed,
        ParkedAndTimed,
        Hooked,
        Retried,
        Guarded,
        Adaptive,
        Limited,
    }

    public static TheoryData<Way, FaultyCall.Fault> Operators() =>
        [.. Enum.GetValues<Way>().SelectMany(static way => Enum.GetValues<FaultyCall.Fault>().Select(fault => (way, fault)))];

    public static TheoryData<string, RunForm, FaultyCall.Fault, bool> RuntimesAndForms()
    {
        TheoryData<string, RunForm, FaultyCall.Fault, bool> data = [];
        foreach (string name in new[] { "direct", "concurrent 1", "concurrent 3", "parallel 2", "auto 1", "auto 3", "auto 100" })
        {
            foreach (FaultyCall.Fault fault in Enum.GetValues<FaultyCall.Fault>())
            {
                data.Add(name, RunForm.Array, fault, false);
                data.Add(name, RunForm.Stream, fault, false);
                data.Add(name, RunForm.Array, fault, true);
            }
        }

        return data;
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(Operators))]
    public async Task Operator_OverFaultySources_RunsEachItemOnceToItsOwnOutcome(Way way, FaultyCall.Fault fault)
    {
        Calls calls = new(fault);
        int[] items = [.. Enumerable.Range(0, Count)];
        ParallelRunOptions options = new() { MaxDegreeOfParallelism = 4, ErrorMode = ErrorMode.BestEffort };
        Task<ItemOutcome<int, int>[]> Run(IEnumerable<int> source) => source.SelectParallelOutcomesAsync(calls.StartAsync, options);
        ItemOutcome<int, int>[] outcomes;
        switch (way)
        {
            case Way.Lazy:
                outcomes = await calls.UntilAsync(Run(items.Where(static _ => true)));
                break;
            case Way.Async:
                TestSource source = TestSource.Of(SourceKind.AsyncSuspending, Count);
                outcomes = await calls.UntilAsync(source.OutcomesAsync(calls.StartAsync, options));
                break;
            case Way.Stream:
                List<int> results = await calls.UntilAsync(OperatorRunner.GatherAsync(items.SelectParallelStreamAsync(calls.StartAsync, options)));
                Assert.Equal(items.Where(calls.Succeeds), results.Order());
                calls.AssertOnce();
                return;
            default:
                options = way switch
                {
                    Way.Parked => options with { MaxDegreeOfParallelism = Count },
                    Way.ParkedAndTimed => options with { MaxDegreeOfParallelism = Count, PerItemTimeout = TimeSpan.FromMinutes(5) },
                    Way.Timed => options with { PerItemTimeout = TimeSpan.FromMinutes(5) },
                    Way.Hooked => options with { OnCompleteItemAsync = static _ => ValueTask.CompletedTask },
                    Way.Retried => options with { MaxRetries = 1, ShouldRetry = RetryRule.Of<int>(static _ => false) },
                    Way.Guarded => options with { CircuitBreaker = new CircuitBreakerOptions { FailureThreshold = 10_000 } },
                    Way.Adaptive => options with { AdaptiveConcurrency = new AdaptiveConcurrencyOptions { MaxConcurrency = 4 } },
                    Way.Limited => options with { ConcurrencyLimit = new SharedConcurrencyLimit(3) },
                    _ => options,
                };
                outcomes = await calls.UntilAsync(Run(items));
                break;
        }

        calls.AssertOnce();
        calls.AssertOutcomes(outcomes);
    }

    [Theory(Timeout = 90_000)]
    [MemberData(nameof(RuntimesAndForms))]
    public async Task Runtime_OverFaultySources_RunsEachItemOnceToItsOwnOutcome(string name, RunForm form, FaultyCall.Fault fault, bool timed)
    {
        Calls calls = new(fault);
        await using IExecutionRuntime runtime = RuntimeCases.Create(name);
        ProcessManyOptions options = timed ? new() { PerItemTimeout = TimeSpan.FromMinutes(5) } : new();
        ItemOutcome<int, int>[] outcomes = await calls.UntilAsync(
            RuntimeRun.Start(form, runtime, RuntimeRun.Count(Count), calls.StartAsync, options, TestContext.Current.CancellationToken));
        calls.AssertOnce();
        calls.AssertOutcomes(outcomes);
    }

    /// <summary>Every third call is that of a faulty source. Each item calls all of them back, at different moments of its own call.</summary>
    private sealed class Calls(FaultyCall.Fault fault)
    {
        private readonly ConcurrentDictionary<int, FaultyCall> _faulty = new();
        private readonly int[] _started = new int[Count];

        public bool Succeeds(int item) => item % 3 != 0 || fault == FaultyCall.Fault.CallsBackAgain;

        public ValueTask<int> StartAsync(int item, CancellationToken token)
        {
            Interlocked.Increment(ref _started[item]);
            CallBack();
            return item % 3 == 0 ? _faulty.GetOrAdd(item, item => new FaultyCall(item, fault)).Start() : FinishAsync(item);
        }

        /// <summary>Calls back until the run ends: more than once whatever happens.</summary>
        public async Task<TOutcome> UntilAsync<TOutcome>(Task<TOutcome> run)
        {
            while (!run.IsCompleted)
            {
                CallBack();
                await Task.Yield();
            }

            return await run.WithinAsync();
        }

        public void AssertOnce() => Assert.All(_started, static count => Assert.Equal(1, count));

        public void AssertOutcomes(ItemOutcome<int, int>[] outcomes)
        {
            Assert.Equal(Count, outcomes.Length);
            Assert.All(outcomes, (outcome, item) =>
            {
                Assert.Equal(Succeeds(item), outcome.IsSuccess);
                if (outcome.IsSuccess)
                {
                    Assert.Equal(item, outcome.Value);
                }
                else
                {
                    Assert.Equal("cannot wait", Assert.IsType<TestException>(outcome.Error).Message);
                }
            });
        }

        private async ValueTask<int> FinishAsync(int item)
        {
            await Task.Yield();
            CallBack();
            await Task.Yield();
            return item;
        }

        private void CallBack()
        {
            foreach (FaultyCall call in _faulty.Values)
            {
                call.CallBack();
            }
        }
    }
}
