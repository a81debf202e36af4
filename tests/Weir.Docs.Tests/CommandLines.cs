using System.CommandLine;
using System.Text;
using BenchmarkDotNet.Attributes;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.ConsoleArguments;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Running;
using Weir.Audit;
using Weir.Audit.Load;
using Weir.Bench;
using Weir.Cli.App;
using Weir.Cli.Hosting;
using Weir.Cli.Kit.Hosting;
using Weir.Delivery.Cli.App;
using Weir.Delivery.Cli.Hosting;
using Weir.Lab.Benchmarks.Running;
using Weir.Lab.Suites;
using Weir.Tables.App;

namespace Weir.Docs.Tests;

/// <summary>Does a program understand a command line? Its own parser says so, and nothing is run.</summary>
internal static class CommandLines
{
    private static readonly Lazy<BenchmarkCase[]> Benchmarks = new(static () =>
        [
            .. typeof(Suite).Assembly.GetExportedTypes()
                .Where(static type => !type.IsAbstract && type.GetMethods().Any(static method => method.IsDefined(typeof(BenchmarkAttribute), inherit: true)))
                .SelectMany(static type => BenchmarkConverter.TypeToBenchmarks(type).BenchmarksCases),
        ]);

    /// <summary>What is wrong with a line; empty if it is understood.</summary>
    /// <param name="program">The program, by its name or its project.</param>
    /// <param name="line">Its arguments.</param>
    public static IEnumerable<string> Errors(string program, string line)
    {
        string[] words = [.. Words(line)];
        if (program is BenchApp.Name or "bench/Weir.Bench")
        {
            return BenchErrors(words);
        }

        CliHost host = new() { Name = "docs", Out = TextWriter.Null, Error = TextWriter.Null };
        ParseResult parsed = program switch
        {
            WorkApp.Name or "lab/Weir.Delivery.Cli" => WorkApp.Parse(words, new WorkCliHost(host)),
            AuditApp.Name or "bench/Weir.Audit" => AuditApp.Parse(words, new AuditHost(host)),
            TablesApp.Name => TablesApp.Parse(words, host),
            _ => WeirApp.Parse(words, new WeirHost(host)),
        };
        return parsed.Errors.Select(static e => e.Message);
    }

    /// <summary>The words of a line as a shell makes them: quotes, and comments at the end.</summary>
    public static IEnumerable<string> Words(string line)
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

    // BenchmarkDotNet parses what the program leaves it. Each filter must select a benchmark.
    private static IEnumerable<string> BenchErrors(string[] arguments)
    {
        AccumulationLogger log = new();
        string[] own = LabArguments.Parse([.. BenchArguments.Parse(arguments).Remaining]).Remaining;
        (bool isSuccess, IConfig? config, _) = ConfigParser.Parse(own, log);
        if (!isSuccess || config is null)
        {
            return [log.GetLog()];
        }

        return Benchmarks.Value.Any(benchmark => config.GetFilters().All(filter => filter.Predicate(benchmark))) ? [] : ["no benchmark answers to the filter"];
    }
}
