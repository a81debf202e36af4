using Spectre.Console;
using Weir.Cli.Hosting;
using Weir.Cli.Output;
using Weir.Cli.Results.Tables;
using Table = Weir.Cli.Results.Tables.Table;

namespace Weir.Cli.Results.Writing;

/// <summary>Writes a result for people at a terminal, or for a file that people read.</summary>
internal static class ResultText
{
    // More than any table needs: a narrower console would break its lines in the middle of numbers.
    private const int Width = 400;
    private const int MostSentences = 4;

    public static void Write(ResultFile result, CliHost host)
    {
        TextWriter output = host.Out;
        output.WriteLine($"weir {result.Command}   {result.Work}");
        output.WriteLine(Machine(result.Machine));
        foreach ((string name, string value) in result.Machine.Variables.Concat(result.Settings))
        {
            output.WriteLine($"{name}={value}");
        }

        if (result.Partial)
        {
            output.WriteLine("partial=true");
        }

        foreach (Table table in ResultTables.Summary(result))
        {
            output.WriteLine();
            Write(table, host);
        }

        output.WriteLine();
        foreach (string line in Sentences(result))
        {
            output.WriteLine(line);
        }
    }

    /// <summary>The machine on one line.</summary>
    public static string Machine(MachineRecord machine) =>
        $"machine={machine.Cores} cores, {machine.Cpu}, {machine.Os}, {machine.Architecture}; .NET {machine.Dotnet}, {machine.Gc} GC; hash {machine.Hash}";

    /// <summary>The verdicts and findings, a sentence each.</summary>
    public static IEnumerable<string> Sentences(ResultFile result)
    {
        // Many comparisons are easier to read as a table.
        if (result.Comparisons.Count <= MostSentences)
        {
            foreach (ComparisonRecord comparison in result.Comparisons)
            {
                yield return Sentence(comparison);
            }
        }

        foreach (Finding finding in result.Findings)
        {
            yield return finding.Level switch
            {
                FindingLevel.Invalid => $"INVALID  {finding.Text}",
                FindingLevel.Doubt => $"!        {finding.Text}",
                _ => $"note     {finding.Text}",
            };
        }
    }

    /// <summary>A comparison as a sentence.</summary>
    public static string Sentence(ComparisonRecord c) => FormattableString.Invariant(
        $"VERDICT  {c.Arm} is {c.Verdict} {(c.Verdict is "EQUIVALENT" ? "to" : c.Verdict is "INCONCLUSIVE" ? "against" : "than")} {c.Against}: {c.Ratio:0.000}x [{c.Interval}], p = {Numbers.Short(c.P)} (margin {c.Margin * 100:0.#} %, alpha {c.Alpha * 100:0.#} %)")
        + (c.Note is null ? "" : "; " + c.Note);

    private static void Write(Table table, CliHost host)
    {
        host.Out.WriteLine(table.Title);
        Spectre.Console.Table drawn = new() { Border = TableBorder.Simple };
        for (int i = 0; i < table.Columns.Count; i++)
        {
            TableColumn column = new(Markup.Escape(table.Columns[i]));
            drawn.AddColumn(i < table.Labels ? column.LeftAligned() : column.RightAligned());
        }

        foreach (IReadOnlyList<string> row in table.Rows)
        {
            drawn.AddRow([.. row.Select(static cell => cell is "SLOWER" ? $"[red]{cell}[/]" : cell is "FASTER" ? $"[green]{cell}[/]" : Markup.Escape(cell))]);
        }

        // Through text, because the table comes with empty lines and with spaces at the ends of the others.
        using StringWriter text = new();
        IAnsiConsole console = Consoles.Create(text, host.OutIsTerminal);
        console.Profile.Width = Width;
        console.Write(drawn);
        foreach (string line in text.ToString().Split('\n').Select(static line => line.TrimEnd()).Where(static line => line.Length > 0))
        {
            host.Out.WriteLine(line);
        }
    }
}
