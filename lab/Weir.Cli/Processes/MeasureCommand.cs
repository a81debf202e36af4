using System.CommandLine;
using System.Globalization;
using System.Text.Json;
using Weir.Cli.Hash;
using Weir.Cli.Hosting;
using Weir.Cli.Results;
using Weir.Cli.Run;

namespace Weir.Cli.Processes;

/// <summary>The command that a measuring process runs: it reads its order from the input, and writes one line for each round. Not for users.</summary>
internal static class MeasureCommand
{
    public const string Name = "measure";

    private const string Rate = "rate ";

    /// <summary>The kind of order that the commands over workloads give.</summary>
    public const string WorkerKind = "workers";

    public static Command Create(CliHost host)
    {
        Argument<string> kind = new("kind");
        Command command = new(Name, "Runs rounds for another process of this program.") { kind };
        command.Hidden = true;
        command.SetAction((parsed, _) => RunAsync(parsed.GetRequiredValue(kind), host));
        return command;
    }

    /// <summary>Starts a new process of this program that runs rounds.</summary>
    /// <param name="kind">The command that they belong to.</param>
    /// <param name="order">What to do.</param>
    /// <param name="variables">Environment variables that the process gets besides those of this one.</param>
    /// <param name="answer">Gets each round as it ends, and what there is to know at the end.</param>
    /// <param name="stop">Ends it; the round that is under way comes back as partial.</param>
    public static Task InNewProcessAsync<TOrder>(
        string kind, TOrder order, IReadOnlyDictionary<string, string>? variables, Action<MeasureAnswer> answer, CancellationToken stop) =>
        SelfProcess.RunAsync(
            [Name, kind],
            JsonSerializer.Serialize(order, ResultJson.Line),
            line => answer(line.StartsWith(Rate, StringComparison.Ordinal)
                ? new MeasureAnswer(null, null, double.Parse(line.AsSpan(Rate.Length), CultureInfo.InvariantCulture))
                : JsonSerializer.Deserialize<MeasureAnswer>(line, ResultJson.Line)!),
            variables,
            stop);

    private static async Task<int> RunAsync(string kind, CliHost host)
    {
        string order = await host.In.ReadLineAsync().ConfigureAwait(false) ?? "";
        using CancellationTokenSource stop = CancellationTokenSource.CreateLinkedTokenSource(host.Stop);

        // The end of the input is the parent's wish to stop, or the parent's end.
        Thread watch = new(() =>
        {
            while (host.In.ReadLine() is not null)
            {
            }

            try
            {
                stop.Cancel();
            }
            catch (ObjectDisposedException)
            {
                // All is done already.
            }
        })
        {
            IsBackground = true,
            Name = "parent",
        };
        watch.Start();
        IAsyncEnumerable<MeasureAnswer> answers = kind switch
        {
            HashCommand.Name => HashRounds.RunAsync(Parse<HashOrder>(order), stop.Token),
            WorkerKind => WorkerRounds.RunAsync(Parse<WorkerOrder>(order), rate => Tell(host, rate), stop.Token),
            _ => throw new BadInputException($"There is nothing to measure that is called '{kind}'."),
        };
        await foreach (MeasureAnswer answer in answers.ConfigureAwait(false))
        {
            await host.Out.WriteLineAsync(JsonSerializer.Serialize(answer, ResultJson.Line)).ConfigureAwait(false);
            await host.Out.FlushAsync().ConfigureAwait(false);
        }

        return ExitCode.Success;
    }

    // Not as JSON: it is written between rounds, and must cost nothing.
    private static void Tell(CliHost host, double rate)
    {
        host.Out.Write(Rate);
        host.Out.WriteLine(rate.ToString(CultureInfo.InvariantCulture));
        host.Out.Flush();
    }

    private static T Parse<T>(string order)
    {
        try
        {
            return JsonSerializer.Deserialize<T>(order, ResultJson.Line) ?? throw new JsonException("it is empty");
        }
        catch (JsonException e)
        {
            throw new BadInputException($"This command is for the program itself; it cannot use its order: {e.Message}");
        }
    }
}
