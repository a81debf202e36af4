using Weir.Lab.Measuring;
using Weir.Lab.Report;
using Weir.Lab.Report.Page;
using Weir.Lab.Results;
using Weir.Lab.Statistics;
using Weir.Lab.Workers;
using Weir.TestKit;

namespace Weir.Lab.Tests.Measuring;

/// <summary>Measurements from code: what comes out as a record, whatever the figures are.</summary>
public class MeasureTests
{
    private static readonly MeasureOptions Quick =
        new() { Workers = 1, Rounds = 8, Duration = TimeSpan.FromMilliseconds(10), LongestWarmUp = TimeSpan.Zero, Timeout = TimeSpan.FromMinutes(5) };

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_Workload_IsAnArmWithItsRounds()
    {
        ResultFile result = await Measure.RunAsync(Named("work"), Quick with { Workers = 2 });

        ArmRecord arm = Assert.Single(result.Arms);
        Assert.Equal(("run", "work", "work", 2, "operations"), (result.Command, result.Work, arm.Name, arm.Workers, result.Unit));
        Assert.Equal(Enumerable.Range(1, 8), arm.Rounds.Select(static r => r.Order));
        Assert.All(arm.Rounds, static r => Assert.True(r.Operations > 0 && r.Rate > 0));
        Assert.False(result.Partial);
        Assert.Equal("8", result.Settings["rounds"]);
        Assert.Empty(result.Comparisons);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_OperationThatThrows_IsAnInvalidResult()
    {
        ResultFile result = await Measure.RunAsync(new Workload("throws", Operation.Of(static () => throw new TestException("on purpose"))), Quick);

        Assert.Contains("on purpose", Assert.Single(result.Findings, static f => f is { Level: FindingLevel.Invalid, Kind: FindingKind.Rounds }).Text,
            StringComparison.Ordinal);
    }

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_SetupThatThrows_Throws() =>
        await Assert.ThrowsAsync<TestException>(() => Measure.RunAsync(new Stepped("throws", setup: static () => throw new TestException()), Quick));

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_CancelledBefore_IsNoResult() =>
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Measure.RunAsync(Named("work"), Quick, new CancellationToken(canceled: true)));

    [Fact(Timeout = 300_000)]
    public async Task RunAsync_CancelledLater_IsPartial()
    {
        using CancellationTokenSource stop = new();
        int rounds = 0;
        Stepped workload = new("stops", round: () =>
        {
            if (++rounds > 12)
            {
                stop.Cancel();
            }
        });

        ResultFile result = await Measure.RunAsync(workload, Quick with { Rounds = 10_000 }, stop.Token);

        Assert.True(result.Partial);

        // Whether any of them counts depends on when code was compiled.
        Assert.NotEmpty(result.Arms[0].Rounds);
        Assert.True(workload.IsCleanedUp);
    }

    [Fact(Timeout = 300_000)]
    public async Task CompareAsync_TwoWorkloads_TakeTurnsAndHaveAVerdict()
    {
        ResultFile result = await Measure.CompareAsync(Named("a"), Named("b"), Quick, new ComparisonOptions { Margin = 0.5 });

        Assert.Equal(["a", "b"], result.Arms.Select(static a => a.Name));
        Assert.Equal(Enumerable.Range(1, 16), result.Arms.SelectMany(static a => a.Rounds).Select(static r => r.Order).Order());
        Assert.Equal([1, 4, 6, 7], result.Arms[0].Rounds.Take(4).Select(static r => r.Order));

        // Rounds in which code was compiled do not count, and beside other tests these may be all.
        Assert.Equal(result.Arms.All(static a => a.Counted.Count(static r => r.Rate > 0) > 1) ? 1 : 0, result.Comparisons.Count);
        Assert.All(result.Comparisons, static c => Assert.Equal(("b x 1", "a x 1", 0.5), (c.Arm, c.Against, c.Margin)));
    }

    [Fact(Timeout = 300_000)]
    public async Task CompareAsync_OneThatCannotBeSetUp_EndsTheOther()
    {
        Stepped good = new("good");

        await Assert.ThrowsAsync<TestException>(() => Measure.CompareAsync(good, new Stepped("bad", setup: static () => throw new TestException()), Quick));

        Assert.True(good.IsCleanedUp);
    }

    [Fact(Timeout = 300_000)]
    public async Task CompareAsync_OneThatStandsStill_EndsTheOther()
    {
        using ManualResetEventSlim end = new();
        Stepped good = new("good");

        // The limit is that of operations alone: if a call of the other is held up for as long, it is not cleaned up.
        MeasureOptions options = Quick with { Timeout = TimeSpan.FromSeconds(1), CallLimit = TimeSpan.FromHours(1) };
        ResultFile result = await Measure.CompareAsync(good, new Workload("stuck", Operation.Of(end.Wait)), options);
        end.Set();

        Assert.True(good.IsCleanedUp);
        Assert.True(result.Has(FindingLevel.Invalid));
        Assert.True(result.Partial);
    }

    [Fact(Timeout = 300_000)]
    public async Task ScaleAsync_NumbersOfWorkers_AreArmsAndAFit()
    {
        int made = 0;

        ResultFile result =
            await Measure.ScaleAsync(() => new Stepped($"work", create: () => Interlocked.Increment(ref made)), [2, 1], Quick with { Rounds = 2 });

        Assert.Equal([2, 1], result.Arms.Select(static a => a.Workers));
        Assert.All(result.Arms, static a => Assert.Equal(2, a.Rounds.Count));
        Assert.Equal("work", Assert.Single(result.Fits).Name);
        Assert.NotNull(result.Fits[0].Refused);
        Assert.True(made >= 3);
    }

    [Fact(Timeout = 300_000)]
    public async Task Result_Written_IsReadAgain()
    {
        ResultFile result = await Measure.RunAsync(Named("work"), Quick with { Rounds = 2 });
        string file = Path.Combine(Path.GetTempPath(), $"weir-{Guid.NewGuid():N}.html");
        try
        {
            await File.WriteAllTextAsync(file, ResultWriter.Page(result), TestContext.Current.CancellationToken);

            Assert.Equal(ResultWriter.Json(result), ResultWriter.Json(Assert.Single(StoredResults.Read(file))));
            Assert.Contains("Arms (operations per second)", ResultWriter.Text(result), StringComparison.Ordinal);
            Assert.DoesNotContain("To repeat it", ResultWriter.Page(result), StringComparison.Ordinal);
            Assert.Equal(3, ResultWriter.Csv(result).Split('\n', StringSplitOptions.RemoveEmptyEntries).Length);
            Assert.Matches("^# (work: |Cannot say how fast work is: )", ResultWriter.Markdown(result));
        }
        finally
        {
            File.Delete(file);
        }
    }

    [Fact]
    public async Task Arguments_OutOfRange_AreToldAtOnce()
    {
        Assert.StartsWith("Workers must be 1 to 4096.", (await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => Measure.RunAsync(Named("a"), Quick with { Workers = 0 }))).Message, StringComparison.Ordinal);
        Assert.StartsWith("Rounds must be 8 to 10,000.", (await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => Measure.CompareAsync(Named("a"), Named("b"), Quick with { Rounds = 2 }))).Message, StringComparison.Ordinal);
        Assert.Contains("different names", (await Assert.ThrowsAsync<ArgumentException>(() => Measure.CompareAsync(Named("a"), Named("a"), Quick))).Message,
            StringComparison.Ordinal);
        await Assert.ThrowsAsync<ArgumentException>(() => Measure.ScaleAsync(() => Named("a"), [1, 1], Quick));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(() => Measure.RunAsync(Named("a"), Quick with { MaxInFlight = 1 }));
        await Assert.ThrowsAsync<ArgumentNullException>(() => Measure.RunAsync(null!));
    }

    private static Workload Named(string name) => new(name, Operation.Of(static () => Environment.CurrentManagedThreadId));

    private sealed class Stepped(string name, Action? setup = null, Action? round = null, Action? create = null) : IWorkload
    {
        public string Name => name;

        public bool IsCleanedUp { get; private set; }

        public ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken)
        {
            setup?.Invoke();
            return default;
        }

        public ValueTask BeginRoundAsync(CancellationToken cancellationToken)
        {
            round?.Invoke();
            return default;
        }

        public Operation CreateOperation(WorkerContext context)
        {
            create?.Invoke();
            return Operation.Of(static () => Environment.CurrentManagedThreadId);
        }

        public ValueTask CleanupAsync()
        {
            IsCleanedUp = true;
            return default;
        }
    }
}
