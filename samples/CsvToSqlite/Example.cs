using System.Globalization;

/// <summary>A file to import, if none is given. Two of its lines are bad.</summary>
internal static class Example
{
    public static string Write(int rows)
    {
        string file = Path.Combine(Directory.CreateTempSubdirectory("weir-csv-").FullName, "orders.csv");
        IEnumerable<string> lines = Enumerable.Range(1, rows).Select(id => id switch
        {
            17 => "17,customer 3",
            18 => "18,customer 4,a lot",
            _ => string.Create(CultureInfo.InvariantCulture, $"{id},customer {id % 100},{id % 1000 / 10m}"),
        });
        File.WriteAllLines(file, lines.Prepend("id,customer,amount"));
        return file;
    }
}
