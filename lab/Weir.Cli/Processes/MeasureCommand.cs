using System.CommandLine;
using System.Text.Json;
using Weir.Cli.Hash;
using Weir.Cli.Hosting;
using Weir.Cli.Results;

namespace Weir.Cli.Processes;

/// <summary>The command that a measuring process runs: it reads its order from the input, and writes one line for each round. Not for users.</summary>
internal static class MeasureCommand
{
    public const string Name = "measure";

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
    /// <param name="round">Gets each round as it ends.</param>
    /// <param name="stop">Ends it; the round that is under way comes back as partial.</param>
    public static Task InNewProcessAsync<TOrder>(string kind, TOrder order, Action<RoundRecord> round, CancellationToken stop) =>
        SelfProcess.RunAsync(
            [Name, kind],
            JsonSerializer.Serialize(order, ResultJson.Line),
            line => round(JsonSerializer.Deserialize<RoundRecord>(line, ResultJson.Line)!),
            variables: null,
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
        IAsyncEnumerable<RoundRecord> rounds = kind switch
        {
            HashCommand.Name => HashRounds.RunAsync(Parse<HashOrder>(order), stop.Token),
            _ => throw new BadInputException($"There is nothing to measure that is called '{kind}'."),
        };
        await foreach (RoundRecord round in rounds.ConfigureAwait(false))
        {
            await host.Out.WriteLineAsync(JsonSerializer.Serialize(round, ResultJson.Line)).ConfigureAwait(false);
            await host.Out.FlushAsync().ConfigureAwait(false);
        }

        return ExitCode.Success;
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
