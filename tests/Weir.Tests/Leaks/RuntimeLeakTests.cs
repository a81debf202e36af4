using Weir.Runtimes;
using Weir.Tests.Operators.Support;
using Weir.Tests.Runtimes;
using static Weir.Tests.Leaks.TrackedRun;

namespace Weir.Tests.Leaks;

/// <summary>Does an idle runtime, or what its policies share, hold an ended call?</summary>
public class RuntimeLeakTests
{
    /// <summary>The runtimes are one class, and an array and a stream are two ways to hold what has ended.</summary>
    public static TheoryData<string, RunForm> Ways { get; } =
        new(("direct", RunForm.Array), ("concurrent 3", RunForm.Stream), ("parallel 2", RunForm.Array), ("auto 3", RunForm.Stream));

    [Theory(Timeout = Selectors.Timeout, Explicit = IsLong)]
    [MemberData(nameof(Ways))]
    public async Task EndedCall_WithoutPolicies_IsHeldByNothing(string runtime, RunForm form)
    {
        await using IExecutionRuntime kept = RuntimeCases.Create(runtime);
        Held held = new();
        ProcessManyOptions[] all =
            [new(), new() { Control = new RunControl() }, new() { OperationName = "leaks" }, new() { TotalTimeout = TimeSpan.FromDays(1) }];
        for (int i = 0; i < 10; i++)
        {
            await CallAsync(kept, form, held, $"{i % all.Length}", all[i % all.Length]);
        }

        await held.GoneAsync();
        GC.KeepAlive(kept);
    }

    [Theory(Timeout = Selectors.Timeout, Explicit = IsLong)]
    [MemberData(nameof(Ways))]
    public async Task EndedCall_UnderAnyPolicy_IsHeldByNothing(string runtime, RunForm form)
    {
        List<(string Name, ParallelRunOptions Options)> all = LeakOptions.All<Item>(hasResults: true, isRuns: false);
        await using IExecutionRuntime kept = RuntimeCases.Create(runtime);
        Held held = new();
        foreach ((string name, ParallelRunOptions options) in all)
        {
            await CallAsync(kept, form, held, name, new ProcessManyOptions { Policies = options });
        }

        await held.GoneAsync();
        GC.KeepAlive(all);
    }

    [Theory(Timeout = Selectors.Timeout, Explicit = IsLong)]
    [MemberData(nameof(Ways))]
    public async Task EndedCall_UnderALimitOverAllCalls_IsHeldByNothing(string runtime, RunForm form)
    {
        await using IExecutionRuntime kept = RuntimeCases.Create(runtime, new RuntimeOptions { TotalConcurrency = 2 });
        Held held = new();
        await CallAsync(kept, form, held, "total", new ProcessManyOptions());
        await held.GoneAsync();
        GC.KeepAlive(kept);
    }

    private static async Task CallAsync(IExecutionRuntime runtime, RunForm form, Held held, string name, ProcessManyOptions options)
    {
        // At the same time, because most of them only wait for their time.
        List<Task> runs = [];
        foreach (Ending ending in Enum.GetValues<Ending>())
        {
            ProcessManyOptions used = ending switch
            {
                Ending.TimesOut => options with { PerItemTimeout = TimeSpan.FromMilliseconds(10) },
                Ending.TimesOutForever => options with { TotalTimeout = TimeSpan.FromMilliseconds(50) },
                _ => options,
            };
            foreach (bool isLazy in (bool[])[false, true])
            {
                runs.Add(new TrackedRun(held, name, ending).RunAsync(
                    (source, call, leaves, token) => form == RunForm.Array
                        ? runtime.ProcessManyAsync(source, call, used, token)
                        : RunLeakTests.ReadAsync(runtime.ProcessManyStreamAsync(source, call, false, used, token), leaves),
                    isLazy));
            }
        }

        await Task.WhenAll(runs);
    }
}
