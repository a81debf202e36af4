namespace Weir.Lab.Suites;

/// <summary>The suite Batching as its text has it, and not as its table: 10,000 items, and four batches in flight.</summary>
[SuiteInfo(
    115,
    "Published suite: Batching, 10,000 items, limit 4",
    "As for 5,000 items. The published text says 10,000 items and a limit of 4; its table has 5,000, and as many batches in flight as there are cores.",
    OnlyByName = true)]
public class BatchingTenThousandBenchmarks : BatchingBenchmarks
{
    public override int N { get; set; } = 10_000;

    private protected override int Limit => 4;
}
