using Weir.Tables.Compared;

namespace Weir.Tables.Verbs;

/// <summary>The command line of <c>runtimes-table</c>.</summary>
internal static class ComparedCommand
{
    /// <summary>Makes the command.</summary>
    public static Command Create(TextWriter output, TextWriter errors)
    {
        Command command = new(
            ComparedRun.Verb,
            "Measures the tables on .NET 8, 9 and 10. On the runtimes that eng/runtimes laid out, in processes of its own.");
        Option<int> rounds = SuiteOptions.Rounds("How many processes each table is measured in on each runtime.", 1, 1, 100);
        Option<int> span = SuiteOptions.Number("--milliseconds", "How long a row is measured at least.", 150, 1, 60_000);
        Option<string[]> runtimes = SuiteOptions.Names("--runtimes", $"Which of {string.Join(", ", ComparedRun.Known)}. Without it, all.");
        runtimes.AcceptOnlyFromAmong(ComparedRun.Known);
        Option<FileInfo?> page = SuiteOptions.Output("The page to write, such as docs/results/runtimes-compared.md. Its notes are kept.");
        command.Add(rounds);
        command.Add(span);
        command.Add(runtimes);
        command.Add(page);
        command.SetAction((parsed, token) => TableCommand.RunAsync(() => new ComparedRun(output, errors).RunAsync(
            parsed.GetValue(rounds), parsed.GetValue(span), parsed.GetValue(runtimes) is { Length: > 0 } chosen ? chosen : ComparedRun.Known,
            parsed.GetValue(page), token)));
        return command;
    }
}
