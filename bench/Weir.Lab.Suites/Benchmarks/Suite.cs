using BenchmarkDotNet.Configs;

namespace Weir.Lab.Suites;

/// <summary>A suite: its benchmark methods are the arms of its cases, for BenchmarkDotNet and for <c>ratios</c> alike.</summary>
/// <remarks>Arms of one category do equal work, and the setup throws when they do not.</remarks>
[MemoryDiagnoser]
[GroupBenchmarksBy(BenchmarkLogicalGroupRule.ByCategory)]
public abstract class Suite
{
    /// <summary>How many items an arm works on.</summary>
    public virtual int N { get; set; } = 1_000;

    /// <summary>After what time a run that is not done is given up. Long, because some suites wait for minutes.</summary>
    internal virtual TimeSpan Patience => TimeSpan.FromMinutes(10);

    /// <summary>What tells that time.</summary>
    internal virtual TimeProvider Clock => TimeProvider.System;

    /// <summary>The goals for the parameters as they are set, judged by <c>ratios</c>.</summary>
    internal virtual IEnumerable<Goal> Goals => [];

    /// <summary>What the suite shows besides its cases, as Markdown that is measured when it is asked for; empty where that is nothing.</summary>
    internal virtual Task<string> AppendixAsync() => Task.FromResult("");

    /// <summary>Makes the sources and delegates, and checks that all arms do the same with them.</summary>
    /// <returns>A task that ends when the suite is ready to be measured.</returns>
    [GlobalSetup]
    public async Task SetupAsync()
    {
        CallCounter counter = new();
        Prepare(counter);
        await EqualWork.VerifyAsync(this, counter, ExpectedCalls, Patience, Clock);

        // What is measured is the bare delegate.
        Prepare(null);
    }

    /// <summary>Makes what the arms need from the parameters; delegates count into <paramref name="counter"/> when there is one.</summary>
    private protected abstract void Prepare(CallCounter? counter);

    /// <summary>How often each arm of a category has to call the delegate; <see langword="null"/> where they may differ.</summary>
    private protected virtual long? ExpectedCalls(string category) => N;
}
