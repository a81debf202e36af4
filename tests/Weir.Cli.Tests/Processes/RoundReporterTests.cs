using Weir.Cli.Processes;
using Weir.Lab.Workers;

namespace Weir.Cli.Tests.Processes;

/// <summary>What is told of a round while others are still to come.</summary>
public class RoundReporterTests
{
    // No share is below nothing, and none is above the whole: what the compiler really does meanwhile has no part in this.
    [Theory(Timeout = 300_000)]
    [InlineData(-1, true)]
    [InlineData(double.MaxValue, false)]
    public async Task RoundEnded_CompilerWasAtWorkForMoreThanIsAllowed_DoesNotCount(double mostCompiling, bool isDisturbed)
    {
        List<MeasureAnswer> told = [];
        WorkerRunSpec spec = new() { Workload = "noop", Rounds = 2, Duration = TimeSpan.FromMilliseconds(20), LongestWarmUp = TimeSpan.Zero, MostRepeats = 0 };
        Workload workload = new("noop", static _ => Operation.Of(static () => { }));
        await new WorkerRunner(spec, new RoundReporter(told.Add, mostCompiling, turns: null)).RunAsync(workload, TestContext.Current.CancellationToken);

        MeasureAnswer[] rounds = [.. told.Where(static t => t.Rate > 0)];
        Assert.NotEmpty(rounds);
        Assert.All(rounds, round => Assert.Equal(isDisturbed, round.IsDisturbed));
    }

    [Theory]
    [InlineData(12.5, 0.25, true)]
    [InlineData(1e9, 1.0, false)]
    [InlineData(3, null, true)]
    [InlineData(3, null, false)]
    public void AnswerOf_LineOfARate_IsTheSameAnswer(double rate, double? room, bool isDisturbed)
    {
        MeasureAnswer answer = new(Rate: rate, Room: room, IsDisturbed: isDisturbed);
        Assert.Equal(answer, MeasuringProcess.AnswerOf(MeasuringProcess.LineOf(answer)));
    }

    [Theory]
    [InlineData(1024)]
    [InlineData(1)]
    [InlineData(null)]
    public void AnswerOf_LineOfReadiness_IsTheSameAnswer(int? batch)
    {
        MeasureAnswer answer = new(IsReady: true, Batch: batch);
        Assert.Equal(answer, MeasuringProcess.AnswerOf(MeasuringProcess.LineOf(answer)));
    }

    [Theory]
    [InlineData(1024, 512, 1024, 1024)]
    [InlineData(64, 64, 64)]
    [InlineData(512, 64, 512)]
    [InlineData(null, 64, 1024)]
    [InlineData(1, 1, 8)]
    [InlineData(null, 1, 16)]
    [InlineData(null, 64, null)]
    public void AgreedOf_BatchesOfProcesses_IsTheLargestUnlessTheyAreFarApart(int? agreed, params int?[] found) =>
        Assert.Equal(agreed, TurnSessions.AgreedOf(found));

    [Fact]
    public void TryReceive_Batch_IsThatOfTheReporter()
    {
        using TurnSignal turns = new();
        RoundReporter reporter = new(static _ => { }, 1, turns);

        Assert.Null(reporter.Batch);
        Assert.True(turns.TryReceive(TurnSignal.OfBatch(512)));
        Assert.Equal(512, reporter.Batch);
    }
}
