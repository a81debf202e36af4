namespace Weir.Dashboard.Tests;

/// <summary>What forms do, and what is written down of it.</summary>
public class ActionTests
{
    private const string Ada = "ada:operators";

    [Fact(Timeout = 60_000)]
    public async Task ARun_IsPausedResumedLimitedAndStopped()
    {
        (RunControl control, Task run, TaskCompletionSource gate) = Things.Run("acted on", items: 1000);
        await using Site site = await Site.StartAsync(Site.ForOperators);
        string id = Things.IdOf("acted on", LiveKind.Run);

        Assert.Equal((200, $"{id} is paused."), await site.ActAsync(Ada, ("do", "pause"), ("id", id)));
        Assert.True(control.IsPaused);
        Assert.Contains(">Resume</button>", (await site.GetAsync($"?view=entry&id={id}", Ada)).Text, StringComparison.Ordinal);
        Assert.Equal(200, (await site.ActAsync(Ada, ("do", "resume"), ("id", id))).Status);
        Assert.False(control.IsPaused);
        Assert.Equal((200, $"{id} is limited to 5."), await site.ActAsync(Ada, ("do", "limit"), ("id", id), ("limit", "5")));
        Assert.Equal(5, control.MaxDegreeOfParallelism);
        Assert.Equal(200, (await site.ActAsync(Ada, ("do", "stop"), ("id", id))).Status);
        Assert.True(control.IsStopped);
        gate.SetResult();
        await run.WithinAsync("the run that was stopped");

        // Each with who did it.
        Assert.Equal(4, site.Log.Count);
        Assert.All(site.Log, line => Assert.StartsWith("ada did '", line, StringComparison.Ordinal));
        Assert.Contains($"ada did 'limit' to {id} 'acted on', limit '5' on the dashboard. Done: True. {id} is limited to 5.", site.Log);
    }

    [Fact(Timeout = 60_000)]
    public async Task ALogLine_IsOneLineAndSaysWhichLetters_WhateverStandsInAForm()
    {
        string name = "logged\nada did 'stop'";
        (MemoryWorkQueue<string> queue, WorkGauges gauges) = await Things.QueueAsync(name, ("a", DeadLetterReason.Failed, "", ""));
        await using (queue)
        await using (gauges)
        await using (Site site = await Site.StartAsync(Site.ForOperators))
        {
            string id = Things.IdOf(name, LiveKind.Queue);
            await site.ActAsync(Ada, ("do", "drop-all"), ("id", id), ("kind", "Failed"), ("text", "no\r\nsuch \u202Etext"), ("to", "2026-12-01T00:00"));
            await site.ActAsync(Ada, ("do", "pause\nada did 'stop'"), ("id", "run-0\n"));
            Assert.Equal(
                [
                    $"ada did 'drop-all' to {id} 'logged?ada did 'stop'', kind 'Failed', text 'no??such ?text', to '2026-12-01T00:00' on the dashboard. Done: True. 0 dead letters removed.",
                    "ada did 'pause?ada did 'stop'' to run-0? '' on the dashboard. Done: False. There is no such action.",
                ],
                site.Log);
        }
    }

    [Fact(Timeout = 60_000)]
    public async Task AQueue_WhoseServerIsDown_IsToldOnThePageAndToWhoeverActs()
    {
        await using WorkGauges gauges = WorkGauges.Start(new DownQueue(), new WorkGaugeOptions { Interval = TimeSpan.FromHours(1) });
        string id = Things.IdOf("down", LiveKind.Queue);
        while (WeirDiagnostics.Snapshot().Entries.Single(entry => entry.Id == id).State != LiveState.Failed)
        {
            await Task.Yield();
        }

        await using Site site = await Site.StartAsync(Site.ForOperators);
        const string down = "IOException: The server is down.";
        Assert.Contains($"System.IO.{down}</bdi>", (await site.GetAsync("?view=queues")).Text, StringComparison.Ordinal);
        Assert.Contains($"<p class=\"bad\"><bdi>The queue cannot be read: {down}</bdi></p>", (await site.GetAsync($"?view=letters&id={id}")).Text, StringComparison.Ordinal);
        Assert.Equal((400, $"It failed: {down}"), await site.ActAsync(Ada, ("do", "drop-all"), ("id", id), ("to", "2026-12-01T00:00")));
        Assert.Equal((400, $"0 dead letters published again, then it failed: {down}"), await site.ActAsync(Ada, ("do", "replay"), ("id", id), ("letter", "a")));
        Assert.Equal(
            [
                $"ada did 'drop-all' to {id} 'down', to '2026-12-01T00:00' on the dashboard. Done: False. It failed: {down}",
                $"ada did 'replay' to {id} 'down', letter 'a' on the dashboard. Done: False. 0 dead letters published again, then it failed: {down}",
            ],
            site.Log);
    }

    [Fact(Timeout = 60_000)]
    public async Task ARunOrARuntime_ThatHasEnded_IsToldOnItsPageAndToWhoeverActs()
    {
        (_, Task run, TaskCompletionSource gate) = Things.Run("about to end");
        Weir.Runtimes.ConcurrentRuntime runtime = new(2);
        await using Site site = await Site.StartAsync(Site.ForOperators);
        string[] ids = [Things.IdOf("about to end", LiveKind.Run), WeirDiagnostics.Snapshot().Entries.Single(entry => WeirDiagnostics.Find<Weir.Runtimes.ConcurrentRuntime>(entry.Id) == runtime).Id];
        foreach (string id in ids)
        {
            Assert.Contains($"<td class=\"text\"><bdi>{id}</bdi></td>", (await site.GetAsync($"?view=entry&id={id}", Ada)).Text, StringComparison.Ordinal);
        }

        gate.SetResult();
        await run.WithinAsync();
        await runtime.DisposeAsync();
        foreach (string id in ids)
        {
            Assert.Contains(
                $"<h2><bdi>{id}</bdi></h2><p>It is not live any more, or never was in this process.</p></section>", (await site.GetAsync($"?view=entry&id={id}", Ada)).Text, StringComparison.Ordinal);
            Assert.Equal((400, $"{id} is not live any more, or has no such action."), await site.ActAsync(Ada, ("do", "pause"), ("id", id)));
        }
    }

    [Theory(Timeout = 60_000)]
    [InlineData("0")]
    [InlineData("-3")]
    [InlineData("many")]
    [InlineData("2147483648")]
    [InlineData("")]
    public async Task ALimit_OutOfRange_IsRefusedWithOneSentence(string limit)
    {
        SharedConcurrencyLimit shared = new(3) { Name = $"limit '{limit}'" };
        await using Site site = await Site.StartAsync(Site.ForOperators);
        string id = Things.IdOf(shared.Name!, LiveKind.Limit);
        Assert.Equal((400, "limit must be a whole number from 1 to 2147483647."), await site.ActAsync(Ada, ("do", "limit"), ("id", id), ("limit", limit)));
        Assert.Equal(3, shared.Limit);
    }

    [Fact(Timeout = 60_000)]
    public async Task ALimitAndABreaker_AreSet()
    {
        SharedConcurrencyLimit shared = new(3) { Name = "to be raised" };
        CircuitBreaker breaker = new(new CircuitBreakerOptions { Name = "to be opened" });
        await using Site site = await Site.StartAsync(Site.ForOperators);
        Assert.Equal(200, (await site.ActAsync(Ada, ("do", "limit"), ("id", Things.IdOf("to be raised", LiveKind.Limit)), ("limit", "7"))).Status);
        Assert.Equal(7, shared.Limit);

        string id = Things.IdOf("to be opened", LiveKind.Breaker);
        Assert.Equal((200, $"{id} is open until it is closed."), await site.ActAsync(Ada, ("do", "isolate"), ("id", id)));
        Assert.True(breaker.IsIsolated);
        Assert.Contains("isolated", (await site.GetAsync($"?view=entry&id={id}")).Text, StringComparison.Ordinal);
        Assert.Equal((200, $"{id} is closed."), await site.ActAsync(Ada, ("do", "close"), ("id", id)));
        Assert.Equal(CircuitBreakerState.Closed, breaker.State);
    }

    [Fact(Timeout = 60_000)]
    public async Task ARetryBudget_IsShownWithWhatIsLeft()
    {
        ManualTimeProvider time = new();
        RetryBudget budget = new(0.5, minRetriesPerSecond: 0, time) { Name = "to be spent" };
        budget.Deposit();
        Assert.False(budget.TryWithdraw());
        budget.Deposit();
        await using Site site = await Site.StartAsync();
        Assert.Contains("<td>1 retry saved, 1 refused</td>", (await site.GetAsync("?view=policies&q=to%20be%20spent")).Text, StringComparison.Ordinal);
        (_, string entry) = await site.GetAsync($"?view=entry&id={Things.IdOf("to be spent", LiveKind.RetryBudget)}");
        Assert.Contains("<bdi>1 retry saved, 1 refused</bdi>", entry, StringComparison.Ordinal);
        Assert.Contains("<bdi>50 % of the calls, and 0 retries a second in any case</bdi>", entry, StringComparison.Ordinal);
        GC.KeepAlive(budget);
    }

    [Fact(Timeout = 60_000)]
    public async Task WithoutScript_AFormDrawsThePageWithWhatBecameOfIt()
    {
        SharedConcurrencyLimit shared = new(3) { Name = "without script" };
        await using Site site = await Site.StartAsync(Site.ForOperators);
        string id = Things.IdOf("without script", LiveKind.Limit);
        (_, string text) = await site.ActAsync(Ada, "text/html", ("do", "limit"), ("id", id), ("limit", "9"));
        Assert.Contains($"role=\"status\">{id} is limited to 9.</p>", text, StringComparison.Ordinal);
        Assert.Equal(9, shared.Limit);
    }

    [Fact(Timeout = 60_000)]
    public async Task AnAction_ThatDoesNotExist_IsRefused()
    {
        SharedConcurrencyLimit shared = new(3) { Name = "no such action" };
        await using Site site = await Site.StartAsync(Site.ForOperators);
        string id = Things.IdOf(shared.Name!, LiveKind.Limit);
        Assert.Equal((400, "There is no such action."), await site.ActAsync(Ada, ("do", "explode"), ("id", id)));
        Assert.Equal((400, $"{id} is not live any more, or has no such action."), await site.ActAsync(Ada, ("do", "pause"), ("id", id)));
    }

    /// <summary>A queue whose server does not answer.</summary>
    private sealed class DownQueue : IWorkStatistics, IWorkContents, IDeadLetters
    {
        private static IOException Down => new("The server is down.");

        public string Name => "down";

        public IDeadLetters DeadLetters => this;

        public ValueTask<WorkStatistics> GetStatisticsAsync(CancellationToken cancellationToken = default) => throw Down;

        public ValueTask AddAsync(IReadOnlyList<DeadLetter> letters, CancellationToken cancellationToken = default) => throw Down;

        public IAsyncEnumerable<DeadLetter> ListAsync(int limit = 100, CancellationToken cancellationToken = default) => throw Down;

        public ValueTask<DeadLetter?> FindAsync(string id, CancellationToken cancellationToken = default) => throw Down;

        public ValueTask<int> ReplayAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default) => throw Down;

        public ValueTask<int> RemoveAsync(IReadOnlyList<string> ids, CancellationToken cancellationToken = default) => throw Down;
    }
}
