using System.Globalization;
using Weir.Lab.Queues.Arms;
using Weir.Lab.Queues.Jobs;
using Weir.Lab.Queues.Kills;
using Weir.Lab.Queues.Measuring;

if (args is not [var verb, var name, var server, var queue, var last, ..] || !QueueArms.Names.Contains(name))
{
    Console.Error.WriteLine(
        "Give what to do, an arm, its server, the name of its queue, how many items or, to a worker, its file, and for jobs how many items one has.");
    return 1;
}

JobShape? shape = args.Length > 5 ? JobShape.Find(args[5]) : null;
QueueAddress address = shape is null ? new(server, queue) : new(server, queue, JobShape.AtOnce, shape.Ahead);
int Items() => int.Parse(last, CultureInfo.InvariantCulture);
IReadOnlyList<QueueReading> readings = [];
switch (verb)
{
    case QueueReading.Handle or QueueReading.HandleSlowly:
        readings = await Throughput.MeasureAsync(name, address, Items(), verb);
        break;
    case QueueReading.Latency:
        readings = [await Delays.MeasureAsync(name, address, Items())];
        break;
    case QueueReading.Kills:
        readings = [await KilledWorkers.MeasureAsync(name, address, Items(), Console.Error)];
        break;
    case JobReading.Nothing or JobReading.Wait when shape is not null:
        Console.WriteLine(await JobSpeed.MeasureAsync(name, shape, address, Items(), verb));
        break;
    case JobReading.Kill when shape is not null:
        Console.WriteLine(await KilledJobs.MeasureAsync(name, shape, address, Items(), Console.Error));
        break;
    case KilledJobs.Worker when shape is not null:
        await KilledJobs.WorkAsync(name, shape, address, last);
        break;
    case "worker":
        await KilledWorkers.WorkAsync(name, address, last);
        break;
    case "delete":
        await using (IQueueArm arm = QueueArms.Create(name, address))
        {
            await arm.DeleteAsync();
        }

        break;
    default:
        Console.Error.WriteLine($"'{verb}' is none of handle, handle 1 ms, latency, kills, worker and delete, or a job's work without how many items it has.");
        return 1;
}

foreach (QueueReading reading in readings)
{
    Console.WriteLine(reading);
}

return 0;
