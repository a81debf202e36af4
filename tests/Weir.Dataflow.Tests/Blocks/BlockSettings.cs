namespace Weir.Dataflow.Tests.Blocks;

/// <summary>All options of all blocks in one place; each block takes those it knows.</summary>
public sealed record BlockSettings
{
    public static BlockSettings Default { get; } = new();

    public int Bound { get; init; } = DataflowBlockOptions.Unbounded;

    public int PerTask { get; init; } = DataflowBlockOptions.Unbounded;

    public int Degree { get; init; } = 1;

    public bool Ordered { get; init; } = true;

    public bool SingleProducer { get; init; }

    public bool Greedy { get; init; } = true;

    public long Groups { get; init; } = DataflowBlockOptions.Unbounded;

    public int BatchSize { get; init; } = 1;

    public string? NameFormat { get; init; }

    public TaskScheduler? Scheduler { get; init; }

    public CancellationToken Token { get; init; }

    /// <summary>Called with each message by the delegate of a block that has one, before anything else.</summary>
    public Action<string>? Body { get; init; }

    public DataflowBlockOptions Plain() => Fill(new DataflowBlockOptions());

    public ExecutionDataflowBlockOptions Execution()
    {
        var options = new ExecutionDataflowBlockOptions { MaxDegreeOfParallelism = Degree, SingleProducerConstrained = SingleProducer };
        return Fill(options);
    }

    public GroupingDataflowBlockOptions Grouping() => Fill(new GroupingDataflowBlockOptions { Greedy = Greedy, MaxNumberOfGroups = Groups });

    private T Fill<T>(T options) where T : DataflowBlockOptions
    {
        options.BoundedCapacity = Bound;
        options.MaxMessagesPerTask = PerTask;
        options.EnsureOrdered = Ordered;
        options.CancellationToken = Token;
        options.TaskScheduler = Scheduler ?? TaskScheduler.Default;
        if (NameFormat is not null)
        {
            options.NameFormat = NameFormat;
        }

        return options;
    }
}
