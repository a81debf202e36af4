using System.Globalization;
using Weir.Lab.Runtimes;

if (args is not [var table, var milliseconds])
{
    Console.Error.WriteLine("Give a table and how many milliseconds a row is measured for.");
    return 1;
}

for (int place = 0; place < PublishedTables.All.Count; place++)
{
    if (PublishedTables.All[place].Table == table)
    {
        TimeSpan span = TimeSpan.FromMilliseconds(int.Parse(milliseconds, CultureInfo.InvariantCulture));
        Console.WriteLine(await Measurement.OfAsync(PublishedTables.All[place], place, span));
    }
}

return 0;
