using Microsoft.CodeAnalysis.CodeFixes;
using Weir.Analyzers.Fixes;
using Weir.Analyzers.Tests.Rules;

namespace Weir.Analyzers.Tests.Fixes;

/// <summary>What the fixes make of code, and that it compiles and is warned of no more.</summary>
public class FixTests
{
    [Theory(Timeout = 120_000)]
    [InlineData("object M() => new [|BufferBlock<int>|]();", "object M() => new Weir.Dataflow.BufferBlock<int>();")]
    [InlineData("[|BufferBlock<string>|]? _block;", "Weir.Dataflow.BufferBlock<string>? _block;")]
    public Task PassedOverAlias_Fixed_NamesTheBlock(string bad, string good)
    {
        const string usings = "using BufferBlock = Weir.Dataflow.BufferBlock<int>;\nusing System.Threading.Tasks.Dataflow;\n";
        return AssertFixedAsync("WEIR001", new PassedOverAliasFix(), $"{usings}class C {{ {bad} }}", good);
    }

    [Theory(Timeout = 120_000)]
    [InlineData("int n = 0; await items.ForEachParallelAsync(x => { [|n++|]; });", "{ System.Threading.Interlocked.Increment(ref n); }")]
    [InlineData("int n = 0; await items.ForEachParallelAsync(x => { [|--n|]; });", "{ System.Threading.Interlocked.Decrement(ref n); }")]
    [InlineData("long n = 0; await items.ForEachParallelAsync(x => { [|n += x * 2|]; });", "{ System.Threading.Interlocked.Add(ref n, x * 2); }")]
    [InlineData("await items.ForEachParallelAsync(x => { [|_total += x|]; });", "{ System.Threading.Interlocked.Add(ref _total, x); }")]
    [InlineData("await items.ForEachParallelAsync(x => { [|Sum++|]; });", null)]
    [InlineData("await items.ForEachParallelAsync(x => { [|Known[x]++|]; });", null)]
    [InlineData("double n = 0; await items.ForEachParallelAsync(x => { [|n += x|]; });", null)]
    [InlineData("int n = 0; await items.SelectParallelAsync(x => [|n++|]);", null)]
    [InlineData("await items.ForEachParallelAsync(x => { [|_seen.Add(x)|]; });", null)]
    public Task SharedState_Fixed_IsAtomic(string bad, string? good) => AssertFixedAsync("WEIR002", new InterlockedFix(), bad, good);

    [Theory(Timeout = 120_000)]
    [InlineData("(x, [|_|]) => Work.LoadAsync(x)", "(x, token) => Work.LoadAsync(x, token)")]
    [InlineData("[|x|] => Work.LoadAsync(x)", "(x, token) => Work.LoadAsync(x, token)")]
    [InlineData("async (x, [|t|]) => await Work.LoadAsync(x)", "async (x, token) => await Work.LoadAsync(x, token)")]
    [InlineData("async [|x|] => { return await Work.ValueAsync(x); }", "async (x, token) => { return await Work.ValueAsync(x, token); }")]
    [InlineData("[|(int x)|] => Work.LoadAsync(x)", "(int x, System.Threading.CancellationToken token) => Work.LoadAsync(x, token)")]
    [InlineData("(x, [|_|]) => Work.OnlyAsync(x)", null)]
    [InlineData("[|x|] => Work.Compute(x)", null)]
    public Task IgnoredToken_Fixed_IsPassedOn(string bad, string? good)
    {
        const string options = "new ParallelRunOptions { PerItemTimeout = TimeSpan.FromSeconds(1) }";
        return AssertFixedAsync("WEIR003", new TokenFix(), $"await items.SelectParallelAsync({bad}, {options});", good);
    }

    [Theory(Timeout = 120_000)]
    [InlineData("[|items.SelectParallelAsync(Work.LoadAsync)|];", "await items.SelectParallelAsync(Work.LoadAsync);")]
    [InlineData("await items.ForEachParallelAsync(x => { [|Work.SaveAsync(x)|]; });", "async x => { await Work.SaveAsync(x); }")]
    [InlineData("await items.ForEachParallelAsync(async (x, t) => { [|Work.SaveAsync(x)|]; await Task.Yield(); });", "{ await Work.SaveAsync(x);")]
    [InlineData("await items.ForEachParallelAsync((x, t) => [|Work.ValueAsync(x, t)|]);", "(async (x, t) => await Work.ValueAsync(x, t))")]
    [InlineData("await items.SelectParallelAsync((x, t) => { [|Work.ValueAsync(x, t)|]; return new ValueTask<int>(x); });", null)]
    [InlineData("void Local() { [|items.ForEachParallelAsync(x => { })|]; } Local();", null)]
    [InlineData("[|items.SelectParallelStreamAsync(Work.LoadAsync)|];", null)]
    public Task DroppedTask_Fixed_IsAwaited(string bad, string? good) => AssertFixedAsync("WEIR005", new AwaitFix(), bad, good);

    [Theory(Timeout = 120_000)]
    [InlineData(
        "await items.[|SelectParallelAsync|](Opened.ReadAsync);",
        "(Opened.ReadAsync, options: new ParallelRunOptions { Output = new() { DisposeUnusedResults = true } })")]
    [InlineData(
        "await items.[|SelectParallelAsync|](Opened.ReadAsync, cancellationToken: stop);",
        "(Opened.ReadAsync, cancellationToken: stop, options: new ParallelRunOptions { Output = new() { DisposeUnusedResults = true } })")]
    [InlineData(
        "await items.[|SelectParallelAsync|](Opened.ReadAsync, new() { MaxDegreeOfParallelism = 3 }, stop);",
        "new() { MaxDegreeOfParallelism = 3, Output = new() { DisposeUnusedResults = true } }, stop)")]
    [InlineData(
        "await items.[|SelectParallelOutcomesAsync|](Opened.OpenAsync, new() { Output = new() { IncludeDetails = true } });",
        "new() { Output = new() { IncludeDetails = true, DisposeUnusedResults = true } })")]
    [InlineData("await runtime.[|ProcessManyAsync|](items, Opened.OpenAsync);", "options: new ProcessManyOptions { DisposeUnusedResults = true })")]
    [InlineData("await items.[|SelectParallelAsync|](Opened.ReadAsync, null, stop);", null)]
    public Task UnusedResults_Fixed_AreDisposedOf(string bad, string? good) => AssertFixedAsync("WEIR006", new UnusedResultsFix(), bad, good);

    [Theory(Timeout = 120_000)]
    [InlineData("await items.SelectParallelAsync([|x => Task.Factory.StartNew(async () => { await Task.Yield(); return x; })|]);", "return x; }).Unwrap())")]
    [InlineData(
        "await items.SelectParallelAsync([|async (x, t) => await Task.Factory.StartNew(async () => { await Task.Yield(); return x; }, t)|]);",
        "return x; }, t).Unwrap())")]
    [InlineData("await items.ForEachParallelAsync([|x => Task.Factory.StartNew(async () => { await Task.Yield(); })|]);", "}).Unwrap())")]
    [InlineData("await items.SelectParallelAsync([|async (x, t) => Work.LoadAsync(x, t)|]);", "async (x, t) => await Work.LoadAsync(x, t))")]
    [InlineData("await items.ForEachParallelAsync([|FireAndForget|]);", null)]
    [InlineData("await items.SelectParallelAsync([|x => Work.SaveAsync(x)|]);", null)]
    public Task TaskAsResult_Fixed_IsAwaited(string bad, string? good) => AssertFixedAsync("WEIR005", new ResultFix(), bad, good);

    [Theory(Timeout = 120_000)]
    [InlineData("await items.SelectParallelAsync(Work.LoadAsync, new ParallelRunOptions { [|OrderedOutput = true|] });", "new ParallelRunOptions { }")]
    [InlineData(
        "await items.SelectParallelAsync(Work.LoadAsync, new() { [|OrderedOutput = true|], MaxDegreeOfParallelism = 2 });",
        "new() { MaxDegreeOfParallelism = 2 }")]
    [InlineData(
        "await items.SelectParallelAsync(Work.LoadAsync, new()\n{\n    MaxRetries = 1,\n    [|ChannelCapacity = 8|],\n    BaseDelay = TimeSpan.Zero,\n});",
        "new()\n{\n    MaxRetries = 1,\n    BaseDelay = TimeSpan.Zero,\n}")]
    [InlineData("await items.SelectParallelAsync(Work.LoadAsync, new ParallelRunOptions { [|BaseDelay = TimeSpan.Zero|] });", null)]
    [InlineData("await items.SelectParallelAsync(Work.LoadAsync, new() { [|OpenCircuitMode = Weir.Resilience.OpenCircuitMode.WaitForHalfOpen|] });", null)]
    public Task NoEffect_Fixed_IsGone(string bad, string? good) => AssertFixedAsync("WEIR010", new NoEffectFix(), bad, good);

    [Theory(Timeout = 120_000)]
    [InlineData(
        "await [|orders.Numbers|].SelectParallelAsync(Work.LoadAsync);", "await orders.Numbers.AsAsyncEnumerable().SelectParallelAsync(Work.LoadAsync)")]
    [InlineData("await [|orders.Numbers.Where(n => n > 1)|].ForEachParallelAsync(x => { });", "Where(n => n > 1).AsAsyncEnumerable().ForEachParallelAsync")]
    [InlineData(
        "await ([|from n in orders.Numbers select n + 1|]).SelectParallelAsync(Work.LoadAsync);",
        "await ((from n in orders.Numbers select n + 1).AsAsyncEnumerable()).SelectParallelAsync")]
    [InlineData("await runtime.ProcessManyAsync([|orders.Numbers|], Work.LoadAsync);", null)]
    public Task SynchronousQuery_Fixed_IsReadAsynchronously(string bad, string? good) => AssertFixedAsync("WEIR011", new AsyncQueryFix(), bad, good);

    private static async Task AssertFixedAsync(string rule, CodeFixProvider fix, string bad, string? good)
    {
        Snippet snippet = RuleCases.Snippet(rule, bad);
        string? text = await snippet.FixAsync(rule, fix, TestContext.Current.CancellationToken);
        Assert.Equal(good is null, text is null);
        if (text is not null)
        {
            Assert.Contains(good!, text, StringComparison.Ordinal);
            Snippet changed = Snippet.Of(text);
            Assert.Empty(changed.Errors());
            Assert.Empty(await changed.LookAsync(rule, TestContext.Current.CancellationToken));
        }
    }
}
