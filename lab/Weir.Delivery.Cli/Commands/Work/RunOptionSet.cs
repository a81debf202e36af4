namespace Weir.Delivery.Cli.Commands.Work;

/// <summary>The options of <c>work run</c> besides those that all share.</summary>
internal sealed class RunOptionSet
{
    private const int MostConcurrency = 10_000;
    private static readonly TimeSpan Longest = TimeSpan.FromDays(30);

    private readonly TextOption _exec = TextOption.Of("--exec", null, "'PROG ARGS'",
        "A command to run for each item, which gets its value as a line of input. It is done when the exit code is 0. Default: the value is printed");
    private readonly Option<bool> _shell = new("--shell") { Description = "The command is one of the shell" };
    private readonly TextOption _batch = TextOption.Of("--batch", null, "N", "Run the command for up to N items at once, a line each. Default 1");
    private readonly TextOption _concurrency = TextOption.Of("--max-concurrency", null, "N", "Commands at once. Default: the number of processors");
    private readonly TextOption _attempts = TextOption.Of("--attempts", null, "N", "Attempts before an item becomes a dead letter. Default 12; 5 with memory:");
    private readonly TextOption _delay =
        TextOption.Of(
            "--delay", null, "TIME,TIME,...", "How long a failed item waits for each next attempt. Default 1s,10s,1min,10min; 1s,10s,60s with memory:");
    private readonly TextOption _timeout = TextOption.Of("--timeout", null, "TIME", "Time limit of an item. Default: none");
    private readonly TextOption _grace = TextOption.Of("--grace", null, "TIME", "Time that running items have after Ctrl-C. Default 30s");
    private readonly TextOption _idle = TextOption.Of("--idle", null, "TIME", "End when nothing has come for this time. Default: run until Ctrl-C");
    private readonly TextOption _input = TextOption.Of("--input", null, "FILE", "First publish the lines of a file; - for the input");
    private readonly Option<bool> _quiet = new("--quiet") { Description = "No progress" };

    public void AddTo(Command command) => command.AddAll(_exec, _shell, _batch, _concurrency, _attempts, _delay, _timeout, _grace, _idle, _input, _quiet);

    /// <summary>Reads and checks all of them.</summary>
    public RunSettings Read(ParseResult parsed, WorkCliHost host)
    {
        OptionValue? exec = Find(_exec);
        int batch = Find(_batch)?.WholeNumber(1, 1000) ?? 1;
        if (exec is null && (batch > 1 || parsed.GetValue(_shell)))
        {
            throw new BadInputException("--batch and --shell say how to run the command of --exec, which is not there.");
        }

        return new RunSettings
        {
            Command = exec is null ? null : ItemCommand.Of(exec, parsed.GetValue(_shell), host),
            Batch = batch,
            Concurrency = Find(_concurrency)?.WholeNumber(1, MostConcurrency) ?? Environment.ProcessorCount,
            Attempts = Find(_attempts)?.WholeNumber(1, 1000),
            Delays = Find(_delay) is { } delays
                ? [.. delays.Text.Split(',').Select(text => new OptionValue(delays.Source, text.Trim()).Time(TimeSpan.Zero, Longest, "1s,10s"))]
                : null,
            Timeout = Find(_timeout)?.Time(TimeSpan.FromMilliseconds(1), Longest, "30s"),
            Grace = Find(_grace)?.Time(TimeSpan.Zero, Longest, "30s") ?? TimeSpan.FromSeconds(30),
            Idle = Find(_idle)?.Time(TimeSpan.FromMilliseconds(1), Longest, "5s"),
            Input = Find(_input),
            IsQuiet = parsed.GetValue(_quiet),
        };

        OptionValue? Find(TextOption option) => option.Find(parsed);
    }
}
