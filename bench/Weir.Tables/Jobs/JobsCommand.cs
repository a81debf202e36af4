using Weir.Cli.Kit.Output;

namespace Weir.Tables.Jobs;

/// <summary>The command line of <c>job-systems</c>.</summary>
internal static class JobsCommand
{
    private const int UsualRounds = 3;
    private const int MostRounds = 100;
    private const int LeastItems = 500;

    public static Command Create(CliHost host)
    {
        TextOption postgres = FigureOrder.Postgres();
        TextOption rabbit = TextOption.Of(
            "--rabbitmq", "WEIR_RABBITMQ", "ADDRESS", "A broker, on which queues are declared and deleted: amqp://USER:PASSWORD@HOST");
        TextOption rounds = TextOption.Of(
            "--rounds", null, "N", $"How often each arm is measured; what takes longer than 20 s, and kills, once. Default {UsualRounds}");
        TextOption items = TextOption.Of("--items", null, "N", $"The most items of an arm, for a quick look. Default {JobArm.Items}, and {JobArm.Long} for a long kill");
        string names = string.Join(", ", JobsPage.Sections.Select(static s => s.Key));
        TextOption only = TextOption.Of("--only", null, "NAME,...", $"Which sections: {names}. Default all");
        TextOption output = TextOption.Of("--output", null, "FILE", "The page to write, such as docs/results/job-systems.md. Its notes are kept");
        Command command = new(JobsRun.Verb, "Measures items as jobs of job systems. 50,000 as jobs each, as jobs of 500 and as one job on each runtime.");
        command.AddAll([postgres, rabbit, rounds, items, only, output]);
        command.SetAction(async (parsed, stop) =>
        {
            OptionValue? Find(TextOption option) => option.Find(parsed, host.Variable);
            int count = Find(rounds)?.WholeNumber(1, MostRounds) ?? UsualRounds;
            int most = Find(items)?.WholeNumber(LeastItems, JobArm.Long) ?? JobArm.Long;
            PageSection[] sections = Selection.Of(JobsPage.Sections, Find(only)?.Text.Split(',') ?? [], static s => s.Key);
            FileInfo? page = Find(output) is { } file ? new FileInfo(file.NotEmpty("a file")) : null;
            PageFile.Check(page);
            if (Find(postgres) is not { } server || Find(rabbit) is not { } broker)
            {
                throw new BadInputException($"{postgres.Name} and {rabbit.Name} or their variables must say where the servers are: 'eng/services up' starts both.");
            }

            JobsRun jobs = new(PostgresEngine.Connection(server), RabbitEngine.Broker(broker), host.Error);
            await jobs.BuildAsync(stop);
            string servers = await jobs.ServersAsync(stop);
            await SectionPage.MeasureAsync(
                page,
                host.Out,
                sections.Select(static s => s.Key),
                async key =>
                {
                    string extent = key == JobsPage.Kills ? "1 round" : Invariant($"{count} {(count == 1 ? "round" : "rounds")}");
                    string look = most < JobArm.Items ? Invariant($", of {most:N0} items at most: a quick look") : "";
                    return (await jobs.MeasureAsync(key, count, most, stop), $"{servers}; {extent}{look}");
                },
                JobsPage.Render);
            return ExitCode.Success;
        });
        return command;
    }
}
