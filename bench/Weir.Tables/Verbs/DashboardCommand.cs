using Weir.Tables.Dashboard;

namespace Weir.Tables.Verbs;

/// <summary>The command line of <c>dashboard</c>.</summary>
internal static class DashboardCommand
{
    public static Command Create(TextWriter output, TextWriter errors)
    {
        Option<int> rounds = SuiteOptions.Rounds("How often each arm is measured, for 37 seconds.", 3, 1, 1000);
        Option<FileInfo?> page = SuiteOptions.Output("The page to write, such as docs/results/dashboard.md. Its notes are kept.");
        Command command = new(DashboardRun.Verb, "Measures what the dashboard costs a run. Without it, with it, and while somebody looks.") { rounds, page };
        command.SetAction((parsed, token) => TableCommand.RunAsync(
            () => new DashboardRun(output, errors).RunAsync(parsed.GetValue(rounds), parsed.GetValue(page), token)));
        return command;
    }
}
