using System.CommandLine;
using System.Text;
using Weir.Cli.App;
using Weir.Cli.Hosting;
using Weir.Cli.Kit.Hosting;
using Weir.Delivery.Cli.App;
using Weir.Delivery.Cli.Hosting;
using Weir.Tables.App;

namespace Weir.Docs.Tests;

/// <summary>Is every command line of README and docs one that its program understands? Nothing is run.</summary>
public class CommandLineTests
{
    public static TheoryData<string> Pages() => [.. DocPages.All().Where(static p => DocPages.Commands(p).Any())];

    [Theory]
    [MemberData(nameof(Pages))]
    public void Page_Commands_AreUnderstood(string page)
    {
        CliHost host = new() { Name = "docs", Out = TextWriter.Null, Error = TextWriter.Null };
        Assert.All(DocPages.Commands(page), command =>
        {
            string[] words = [.. Words(command.Line)];

            // BenchmarkDotNet has a parser of its own.
            if (words[0] != "bench")
            {
                ParseResult parsed = command.Program switch
                {
                    WorkApp.Name or "lab/Weir.Delivery.Cli" => WorkApp.Parse(words, new WorkCliHost(host)),
                    TablesApp.Name => TablesApp.Parse(words, host),
                    _ => WeirApp.Parse(words, new WeirHost(host)),
                };
                Assert.Empty(parsed.Errors.Select(static e => e.Message));
            }
        });
    }

    [Fact]
    public void Pages_CommandLines_AreFound() => Assert.InRange(DocPages.All().Sum(static p => DocPages.Commands(p).Count()), 60, int.MaxValue);

    [Fact]
    public void Words_OfALine_AreThoseOfAShell()
    {
        Assert.Equal(["run", "--command", "./old --fast", "--x"], Words("run --command './old --fast' --x   # a comment"));
        Assert.Equal(["a", "b#c", ""], Words("a b#c ''"));
    }

    // As a shell does: quotes, and comments at the end.
    private static IEnumerable<string> Words(string line)
    {
        StringBuilder word = new();
        char quote = '\0';
        bool open = false;
        foreach (char c in line)
        {
            if (quote == '\0' && c == '#' && !open)
            {
                break;
            }

            if (quote != '\0' ? c == quote : c is '\'' or '"')
            {
                quote = quote == '\0' ? c : '\0';
                open = true;
            }
            else if (c == ' ' && quote == '\0')
            {
                if (open)
                {
                    yield return word.ToString();
                }

                word.Clear();
                open = false;
            }
            else
            {
                word.Append(c);
                open = true;
            }
        }

        if (open)
        {
            yield return word.ToString();
        }
    }
}
