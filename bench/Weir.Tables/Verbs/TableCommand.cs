namespace Weir.Tables.Verbs;

/// <summary>The command line of a command that measures several kinds of work in rounds, and writes a page.</summary>
internal static class TableCommand
{
    /// <summary>Makes the command.</summary>
    /// <param name="command">Its name and what it is for.</param>
    /// <param name="rounds">How often something is measured.</param>
    /// <param name="only">What <c>--only</c> says.</param>
    /// <param name="page">What <c>--output</c> says.</param>
    /// <param name="run">Measures: gets the rounds, the names of the work, the page and what stops it, and writes the page.</param>
    public static Command Create(
        Command command, Option<int> rounds, string only, string page, Func<int, IReadOnlyList<string>, FileInfo?, CancellationToken, Task> run)
    {
        Option<string[]> names = SuiteOptions.Names("--only", only);
        Option<FileInfo?> output = SuiteOptions.Output(page);
        command.Add(rounds);
        command.Add(names);
        command.Add(output);
        command.SetAction((parsed, token) => RunAsync(() => run(parsed.GetValue(rounds), parsed.GetValue(names) ?? [], parsed.GetValue(output), token)));
        return command;
    }

    /// <summary>Runs what writes a page, on the pool as an application would.</summary>
    /// <returns>The exit code: what goes wrong is an exception.</returns>
    public static async Task<int> RunAsync(Func<Task> run)
    {
        await Task.Run(run, CancellationToken.None);
        return ExitCode.Success;
    }
}
