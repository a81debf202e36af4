using Weir.Cli.Commands.Doctor;
using Weir.Cli.Commands.Gate;
using Weir.Cli.Commands.Hash;
using Weir.Cli.Commands.History;
using Weir.Cli.Commands.Load;
using Weir.Cli.Commands.Measure;
using Weir.Cli.Commands.Report;
using Weir.Cli.Commands.Run;
using Weir.Cli.Commands.Scale;
using Weir.Cli.Commands.Time;
using Weir.Cli.Commands.Top;
using Weir.Cli.Kit.App;

namespace Weir.Cli.App;

/// <summary>The <c>weir</c> program: measures concurrent code, and knows no server.</summary>
/// <remarks>
/// The words of the commands: an <i>option</i> is declared to the parser (<see cref="TextOption"/>, <c>…OptionSet</c>), an <i>option value</i> is one text from
/// the user, <i>settings</i> are all checked values of a command (<c>…Settings</c>), a <i>parameter</i> belongs to a workload, and an <i>order</i> tells a
/// measuring process what to do.
/// </remarks>
internal static class WeirApp
{
    public const string Name = "weir";

    private static readonly string[] WithLimits = ["run", "scale", "load", "time"];

    private static readonly string[] OfWork = ["cdc"];

    private static readonly string[] OfTables =
        ["ratios", "warm-up", "cold-start", "auto-table", "runtimes-table", "blocking-table", "blocks-grid", "load-table", "hash-table", "selfcheck", "figures"];

    public static Task<int> RunAsync(IReadOnlyList<string> args, WeirHost host) =>
        // Of the time of a comparison, much goes into the starts of such processes. So they do without the parser and all other commands.
        args is [MeasuringProcess.Command, var kind, var pipe] ? CliApp.GuardAsync(host, () => MeasureCommand.RunAsync(kind, pipe, host))
        : FindRefusal(args) is { } now ? CliApp.GuardAsync(host, () => throw new BadInputException(now))
        : CliApp.RunAsync(Root(host, args), args, host);

    /// <summary>Parses the arguments without running the command.</summary>
    public static ParseResult Parse(IReadOnlyList<string> args, WeirHost host) => CliApp.Parse(Root(host, args), args);

    private static Command Root(WeirHost host, IReadOnlyList<string> args)
    {
        (string Name, string Description, Func<WeirHost, Command> Create)[] verbs =
        [
            (RunCommand.Name, RunCommand.Description, static host => RunCommand.Create(host)),
            (TimeCommand.Name, TimeCommand.Description, static host => TimeCommand.Create(host)),
            (ScaleCommand.Name, ScaleCommand.Description, static host => ScaleCommand.Create(host)),
            (CompareCommand.Name, CompareCommand.Description, static host => CompareCommand.Create(host)),
            (GateCommand.Name, GateCommand.Description, static host => GateCommand.Create(host)),
            (HistoryCommand.Name, HistoryCommand.Description, static host => HistoryCommand.Create(host, RunAsync)),
            (ReportCommand.Name, ReportCommand.Description, static host => ReportCommand.Create(host)),
            (DoctorCommand.Name, DoctorCommand.Description, static host => DoctorCommand.Create(host)),
            (HashCommand.Name, HashCommand.Description, static host => HashCommand.Create(host)),
            (LoadCommand.Name, LoadCommand.Description, static host => LoadCommand.Create(host)),
            (TopCommand.Name, TopCommand.Description, static host => TopCommand.Create(host)),
        ];

        // A verb that comes first is the one that is asked for. Then the others are but names: their options would only be declared.
        string? asked = args is [var first, ..] && verbs.Any(v => v.Name == first) ? first : null;
        return CliApp.Root(
            Name,
            "Measures concurrent .NET code on your machine.",
            verbs.Select(v => asked is null || asked == v.Name ? v.Create(host) : new Command(v.Name, v.Description)));
    }

    // Verbs that other programs have now, and a limit where there is a verdict.
    private static string? FindRefusal(IReadOnlyList<string> args) => args switch
    {
        ["work", var verb, ..] when !verb.StartsWith('-') => Moved($"work {verb}", $"weir-work {verb}"),
        ["work", ..] => Moved("work", "weir-work"),
        ["run" or "compare", ..] when args.Any(static a => a == "--command" || a.StartsWith("--command=", StringComparison.Ordinal)) =>
            Moved($"{args[0]} --command", "weir time"),
        [var verb, ..] when !WithLimits.Contains(verb)
            && args.Any(static a => a == Threshold.Flag || a.StartsWith(Threshold.Flag + "=", StringComparison.Ordinal)) =>
            $"{verb} has no {Threshold.Flag}: limits are for {string.Join(", ", WithLimits)}. What compares decides by --margin and --figures.",
        [var verb, ..] when OfWork.Contains(verb) => Moved(verb, $"weir-work {verb}"),
        [var verb, ..] when OfTables.Contains(verb) => Moved(verb, $"eng/tables {verb}"),
        _ => null,
    };

    private static string Moved(string before, string now) => $"'weir {before}' is '{now}' now.";
}
