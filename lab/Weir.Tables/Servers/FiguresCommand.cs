using System.CommandLine;
using System.CommandLine.Help;
using Weir.Cli.Kit.Options;
using Weir.Cli.Kit.Output;
using Weir.Delivery.Cli.Engines;
using Weir.Tables.Servers.Broker;
using Weir.Tables.Servers.Turns;
using static System.FormattableString;

namespace Weir.Tables.Servers;

/// <summary>The <c>figures</c> command: measures the engines on a real server, and writes their pages of results.</summary>
internal static class FiguresCommand
{
    private const string Variable = "WEIR_POSTGRES";

    public static Command Create(CliHost host)
    {
        Command command = new("figures", "Measures the engines on a real server. Beside a bare loop that does the same.")
        {
            Create(host, new ChangeFigures()),
            Create(host, new QueueFigures()),
            BrokerCommand.Create(host),
        };
        command.SetAction(static parsed => new HelpAction().Invoke(parsed));
        return command;
    }

    private static Command Create(CliHost host, IFigures figures)
    {
        TextOption source = TextOption.Of("--postgres", Variable, "ADDRESS",
            "A server, on which a database is created and dropped: a connection string of Npgsql or postgres://USER@HOST/DATABASE");
        TextOption rounds = TextOption.Of("--rounds", null, "N", "How often each arm is measured, after one round that warms up. Default 5");
        string names = string.Join(", ", figures.Sections.Select(static s => s.Key));
        TextOption only = TextOption.Of("--only", null, "NAME,...", $"Which sections: {names}. Default all");
        TextOption output = TextOption.Of("--output", null, "FILE", $"The page to write, such as docs/results/{figures.Page}.md. Its notes are kept");
        Command command = new(figures.Name, figures.Description) { source.Flag, rounds.Flag, only.Flag, output.Flag };
        command.SetAction(async (parsed, token) =>
        {
            OptionValue server = source.Find(parsed, host.Variable)
                ?? throw new BadInputException($"--postgres or {Variable} must say where a server is: 'eng/services up postgres' starts one.");
            int count = rounds.Find(parsed, static _ => null)?.WholeNumber(1, 100) ?? 5;
            (string Key, string, string)[] sections =
                Selection.Of(figures.Sections, only.Find(parsed, static _ => null)?.Text.Split(',') ?? [], static s => s.Key);
            FileInfo? page = output.Find(parsed, static _ => null) is { } file ? new FileInfo(file.NotEmpty("a file")) : null;
            PageFile.Check(page);

            FiguresPage results = new(
                PageFile.Read(page),
                figures.Title,
                $"eng/tables figures {figures.Name} --output docs/results/{figures.Page}.md");
            foreach ((string section, _, _) in sections)
            {
                PageRun run = new(page: null, host.Out);
                FigureDatabase database = await FigureDatabase.CreateAsync(PostgresEngine.Connection(server), token).ConfigureAwait(false);
                await using (database.ConfigureAwait(false))
                {
                    string measured = await figures.MeasureAsync(section, database, count, host.Error, token).ConfigureAwait(false);
                    string text = $"{run.Provenance(Invariant($"{count} rounds"))}\n\n{measured}";
                    results.Replace(section, text);
                    await run.WriteAsync(text).ConfigureAwait(false);
                }

                if (page is not null)
                {
                    ResultOutput.WriteFile(page.FullName, results.Render(figures.Sections));
                }
            }

            return ExitCode.Success;
        });
        return command;
    }
}
