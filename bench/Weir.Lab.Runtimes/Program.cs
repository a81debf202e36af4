using System.Globalization;
using Weir.Lab.Runtimes;

if (args is not [var table, var milliseconds])
{
    Console.Error.WriteLine("Give a table and how many milliseconds a row is measured for.");
    return 1;
}

for (int index = 0; index < PublishedTables.All.Count; index++)
{
    if (PublishedTables.All[index].Table == table)
    {
        TimeSpan span = TimeSpan.FromMilliseconds(int.Parse(milliseconds, CultureInfo.InvariantCulture));
        Console.WriteLine(await Measurement.OfAsync(PublishedTables.All[index], index, span));
    }
}

return 0;
